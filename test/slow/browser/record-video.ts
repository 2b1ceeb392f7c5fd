import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from 'mediabunny';
import type { Page } from 'playwright-core';

/** The length of a recorded video, with one frame a second. */
export const videoSeconds = 30;

/**
 * Records a video of noise, about 7 MB, so that a browser does not load all of it at once. The browser encodes it: the page
 * must be one of this machine, since only these and https may.
 */
export async function recordVideo(page: Page, type: 'mp4' | 'webm'): Promise<Buffer> {
  const codec = type === 'mp4' ? 'vp9' : 'vp8';
  const { frames, config } = await page.evaluate(encodeNoise, {
    codec: codec === 'vp9' ? 'vp09.00.10.08' : codec,
    seconds: videoSeconds,
  });
  const target = new BufferTarget();
  const output = new Output({ format: type === 'mp4' ? new Mp4OutputFormat() : new WebMOutputFormat(), target });
  const source = new EncodedVideoPacketSource(codec);
  output.addVideoTrack(source);
  await output.start();
  for (const [second, frame] of frames.entries()) {
    const packet = new EncodedPacket(Buffer.from(frame, 'base64'), 'key', second, 1);
    await source.add(packet, { decoderConfig: config });
  }
  await output.finalize();
  return Buffer.from(target.buffer!);
}

/** Runs in the page: encodes one frame of noise for each second. */
async function encodeNoise({ codec, seconds }: { codec: string; seconds: number }) {
  const [width, height] = [640, 360];
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d')!;
  const frames: string[] = [];
  const encoder = new VideoEncoder({
    output: (chunk) => {
      const bytes = new Uint8Array(chunk.byteLength);
      chunk.copyTo(bytes);
      frames.push(btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')));
    },
    error: (error) => {
      throw error;
    },
  });
  encoder.configure({ codec, width, height, bitrate: 80_000_000, framerate: 1, latencyMode: 'realtime' });
  for (let second = 0; second < seconds; second += 1) {
    const image = context.createImageData(width, height);
    // The longest that one call fills.
    for (let at = 0; at < image.data.length; at += 65_536) crypto.getRandomValues(image.data.subarray(at, at + 65_536));
    context.putImageData(image, 0, 0);
    const frame = new VideoFrame(canvas, { timestamp: second * 1_000_000, duration: 1_000_000 });
    encoder.encode(frame, { keyFrame: true });
    frame.close();
  }
  await encoder.flush();
  return { frames, config: { codec, codedWidth: width, codedHeight: height } };
}
