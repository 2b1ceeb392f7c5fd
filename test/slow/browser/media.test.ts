import { resolve } from 'node:path';
import type * as Mediabunny from 'mediabunny';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createTestApp } from '../../helpers/app.ts';
import type { TestApp } from '../../helpers/app.ts';
import { buildProject, createProject } from '../../helpers/project.ts';
import { describeChromium, newPage, servePage } from './chromium.ts';

/** Length of a recorded video, with one frame a second. */
const videoSeconds = 30;

/** Record each video once: encoding takes seconds. */
const videos: Record<string, Buffer> = {};

/** Serves a recorded video at /media/clip.TYPE, without CORS. */
async function serveVideo(page: Page, type: 'mp4' | 'webm'): Promise<TestApp> {
  const root = createProject({ [`content/media/clip.${type}`]: (videos[type] ??= await recordVideo(page, type)) });
  await buildProject(root);
  return createTestApp({ root, settings: { CORS_ORIGINS: 'https://www.example.com' } });
}

/**
 * Records a video of noise, about 7 MB, too large for a browser to load at once. The browser encodes it, in a local
 * page: encoding needs a secure context.
 */
async function recordVideo(page: Page, type: 'mp4' | 'webm'): Promise<Buffer> {
  await page.goto(await servePage('<!doctype html><title>Recorder</title>'));
  const bundle = '../../../node_modules/mediabunny/dist/bundles/mediabunny.min.cjs';
  await page.addScriptTag({ path: resolve(import.meta.dirname, bundle) });
  return Buffer.from(await page.evaluate(recordNoise, { type, seconds: videoSeconds }), 'base64');
}

/** Runs in the page: records one frame of noise per second. */
async function recordNoise({ type, seconds }: { type: 'mp4' | 'webm'; seconds: number }): Promise<string> {
  const media = (window as unknown as { Mediabunny: typeof Mediabunny }).Mediabunny;
  const [width, height] = [640, 360];
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d')!;
  const target = new media.BufferTarget();
  const format = type === 'mp4' ? new media.Mp4OutputFormat() : new media.WebMOutputFormat();
  const output = new media.Output({ format, target });
  const codec = type === 'mp4' ? 'vp9' : 'vp8';
  const source = new media.CanvasSource(canvas, { codec, bitrate: 80_000_000, latencyMode: 'realtime' });
  output.addVideoTrack(source, { frameRate: 1 });
  await output.start();
  for (let second = 0; second < seconds; second += 1) {
    const image = context.createImageData(width, height);
    // Maximum length of one call.
    for (let at = 0; at < image.data.length; at += 65_536) crypto.getRandomValues(image.data.subarray(at, at + 65_536));
    context.putImageData(image, 0, 0);
    await source.add(second, 1, { keyFrame: true });
  }
  await output.finalize();
  return new Uint8Array(target.buffer!).toBase64();
}

/** Plays a page's video, seeks to near the end, and continues from there. */
function playAndSeek(page: Page, to: number) {
  return page.evaluate(async (end) => {
    const video = document.querySelector('video')!;
    const next = (event: string): Promise<Event> =>
      new Promise((done, reject) => {
        video.addEventListener(event, done, { once: true });
        video.addEventListener('error', () => reject(new Error(video.error?.message ?? 'error')), { once: true });
      });
    if (video.error) throw new Error(video.error.message);
    video.muted = true;
    await video.play();
    if (video.currentTime === 0) await next('timeupdate');
    const played = video.currentTime;
    const seeked = next('seeked');
    video.currentTime = end;
    await seeked;
    const reached = video.currentTime;
    if (video.paused) await video.play();
    await next('timeupdate');
    const { duration, videoWidth, videoHeight } = video;
    return { hasPlayed: played > 0, reached, playsOn: video.currentTime >= end, duration, videoWidth, videoHeight };
  }, to);
}

describeChromium((browser) => {
  test.each([
    ['mp4', 'opened directly'],
    ['mp4', 'in a page of another origin'],
    ['webm', 'opened directly'],
    ['webm', 'in a page of another origin'],
  ] as const)('a video (%s) that is %s plays, and can be sought in', async (type, place) => {
    const page = await newPage(browser());
    const app = await serveVideo(page, type);
    const answers: { status: number; start: number }[] = [];
    page.on('response', (response) => {
      const [, start = '0'] = /^bytes (\d+)-/.exec(response.headers()['content-range'] ?? '') ?? [];
      if (response.url().includes('/media/')) answers.push({ status: response.status(), start: Number(start) });
    });
    const url = `${app.url}/media/clip.${type}`;
    // Slow enough that the browser has not loaded the target of the seek.
    const session = await page.context().newCDPSession(page);
    const slow = { offline: false, latency: 0, downloadThroughput: 300_000, uploadThroughput: -1 };
    await session.send('Network.emulateNetworkConditions', slow);
    const html = `<!doctype html><title>Site</title><video src="${url}" preload="metadata" muted></video>`;
    await page.goto(place === 'opened directly' ? url : await servePage(html));
    const end = videoSeconds - 3;
    expect(await playAndSeek(page, end)).toEqual({
      hasPlayed: true,
      // On a busy machine, the page reads the time later.
      reached: expect.closeTo(end, 0),
      playsOn: true,
      duration: expect.closeTo(videoSeconds, 0),
      videoWidth: 640,
      videoHeight: 360,
    });
    expect(answers.filter(({ status, start }) => status === 206 && start > 0)).not.toEqual([]);
  });
});
