import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { createTestApp } from '../../helpers/app.ts';
import type { TestApp } from '../../helpers/app.ts';
import { buildProject, createProject } from '../../helpers/project.ts';
import { createUpstream } from '../../helpers/upstream.ts';
import { describeChromium } from './chromium.ts';
import { recordVideo, videoSeconds } from './record-video.ts';

/** Opens a new page, which is closed when the test ends. */
async function openPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  return context.newPage();
}

/** Serves a page of another origin. */
async function serveSite(html: string): Promise<string> {
  const { url } = await createUpstream(() => ({ status: 200, body: html, headers: { 'Content-Type': 'text/html' } }));
  return url;
}

/** Each video is recorded once: encoding takes seconds. */
const videos: Record<string, Buffer> = {};

/** Serves a recorded video at /media/clip.TYPE to no foreign script. */
async function serveVideo(page: Page, type: 'mp4' | 'webm'): Promise<TestApp> {
  await page.goto(await serveSite('<!doctype html><title>Recorder</title>'));
  const root = createProject({ [`content/media/clip.${type}`]: (videos[type] ??= await recordVideo(page, type)) });
  await buildProject(root);
  return createTestApp({ root, settings: { CORS_ORIGINS: 'https://www.example.com' } });
}

/** Plays the video of a page, seeks to near its end, and plays on from there. */
function playAndSeek(page: Page, to: number) {
  return page.evaluate(async (end) => {
    const video = document.querySelector('video')!;
    const next = (event: string): Promise<Event> =>
      new Promise((resolve, reject) => {
        video.addEventListener(event, resolve, { once: true });
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
    const page = await openPage(browser());
    const app = await serveVideo(page, type);
    const answers: { status: number; start: number }[] = [];
    page.on('response', (response) => {
      const [, start = '0'] = /^bytes (\d+)-/.exec(response.headers()['content-range'] ?? '') ?? [];
      if (response.url().includes('/media/')) answers.push({ status: response.status(), start: Number(start) });
    });
    const url = `${app.url}/media/clip.${type}`;
    // So slow that the browser has not loaded what it seeks to.
    const session = await page.context().newCDPSession(page);
    const slow = { offline: false, latency: 0, downloadThroughput: 300_000, uploadThroughput: -1 };
    await session.send('Network.emulateNetworkConditions', slow);
    const html = `<!doctype html><title>Site</title><video src="${url}" preload="metadata" muted></video>`;
    await page.goto(place === 'opened directly' ? url : await serveSite(html));
    const end = videoSeconds - 3;
    expect(await playAndSeek(page, end)).toEqual({
      hasPlayed: true,
      reached: expect.closeTo(end, 1),
      playsOn: true,
      duration: expect.closeTo(videoSeconds, 0),
      videoWidth: 640,
      videoHeight: 360,
    });
    expect(answers.filter(({ status, start }) => status === 206 && start > 0)).not.toEqual([]);
  });
});
