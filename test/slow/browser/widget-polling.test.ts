import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { describeChromium } from './chromium.ts';
import { createStage, embed, expectToast, openStage, pageTime } from './fixture.ts';
import type { Answer } from './fixture.ts';

const web = { status: 'disrupted', disrupted: ['Web'] };
const shown = 'Some services are disrupted Web';

describeChromium((browser) => {
  test.each([
    ['', 10_000],
    ['data-interval="30"', 30_000],
    ['data-interval="5"', 5000],
    ['data-interval="1"', 5000],
    ['data-interval="soon"', 10_000],
    ['data-interval="1e99"', 86_400_000],
  ])('with the attribute "%s", the widget polls every %i ms', async (attribute, ms) => {
    const stage = await openStage(browser(), embed(attribute));
    await stage.advance(ms - 1);
    expect(stage.requestCount()).toBe(1);
    await stage.advance(1, 1);
    await stage.advance(ms - 1);
    expect(stage.requestCount()).toBe(2);
    await stage.advance(1, 1);
  });

  test.each([
    [0, 8500],
    [1, 11_500],
  ])('the interval varies by 15 %: with the random number %i it is %i ms', async (random, ms) => {
    const script = `Math.random = () => ${random}`;
    const stage = await openStage(browser(), embed(), { status: 'up' }, { script });
    await stage.advance(ms - 1);
    expect(stage.requestCount()).toBe(1);
    await stage.advance(1, 1);
  });

  test.each<[string, Answer]>([
    ['a closed connection', 'drop'],
    ['503 {"status":"error"}', { status: 503, body: '{"status":"error"}' }],
    ['502 with HTML', { status: 502, body: '<h1>Bad gateway</h1>' }],
    ['an unknown status', { status: 'excellent' }],
    ['null', { status: 200, body: 'null' }],
    ['an incident with a wrong status code', { status: 500, body: '{"status":"disrupted","disrupted":["Games"]}' }],
  ])('after %s, the widget keeps the last status, backs off, and recovers', async (_, failure) => {
    const stage = await openStage(browser(), embed(), web);
    await stage.poll(failure);
    for (const seconds of [20, 40, 80, 160, 300, 300]) {
      await stage.advance((seconds - 1) * 1000);
      const before = stage.requestCount();
      await stage.advance(1000, 1);
      expect(stage.requestCount()).toBe(before + 1);
    }
    await expectToast(stage, shown);
    stage.answer({ status: 'up' });
    await stage.advance(300_000, 1);
    await expectToast(stage, '');
    await stage.advance(10_000, 1);
  });

  test('nothing is shown if the API was never reached', async () => {
    const stage = await openStage(browser(), embed(), 'drop');
    await stage.advance(20_000, 1);
    await expectToast(stage, '');
  });

  test('a request is aborted after 8 s, and retried', async () => {
    const stage = await openStage(browser(), embed());
    await stage.poll('hang');
    const failed = stage.page.waitForEvent('requestfailed');
    stage.answer(web);
    await stage.advance(8000);
    await failed;
    await stage.advance(20_000, 1);
    await expectToast(stage, shown);
  });

  test.each([
    ['seconds', () => '120'],
    ['a date', () => new Date(pageTime + 121_000).toUTCString()],
  ])('a Retry-After in %s is respected, also when the page becomes visible again', async (_, wait) => {
    const refused = { status: 429, headers: { 'Retry-After': wait() }, body: 'rate limit exceeded\n' };
    const stage = await openStage(browser(), embed(), refused);
    stage.answer(web);
    await stage.advance(60_000);
    await stage.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await stage.advance(55_000);
    expect(stage.requestCount()).toBe(1);
    await stage.advance(7000, 1);
    await expectToast(stage, shown);
  });

  test('the fallback is read while the API is unreachable, but not after an error status', async () => {
    const stage = await openStage(browser(), embed('data-fallback="/status.json"'), 'drop', { fallback: web });
    await expectToast(stage, shown);
    stage.answerFallback({ status: 'up' });
    stage.answer({ status: 503, body: '{"status":"error"}' });
    await stage.advance(20_000, 1);
    await expectToast(stage, shown);
    stage.answer({ status: 502, body: '<h1>Bad gateway</h1>' });
    await stage.advance(40_000, 1);
    await expectToast(stage, '');
  });

  test('a relative fallback stays the same after a navigation without a reload', async () => {
    const options = { fallback: { status: 'up' } };
    const stage = await openStage(browser(), embed('data-fallback="status.json"'), 'drop', options);
    await expectToast(stage, '');
    await stage.page.evaluate(() => history.pushState(null, '', '/blog/deeper'));
    stage.answerFallback(web);
    await stage.advance(20_000, 1);
    await expectToast(stage, shown);
  });

  test('data-api sets another API', async () => {
    const options = { fallback: web, times: 0 };
    const stage = await openStage(browser(), embed('data-api="/status.json"'), 'drop', options);
    await expectToast(stage, shown);
    expect(stage.requestCount()).toBe(0);
  });

  test('a hidden tab sends no request for 30 s, and polls immediately when visible again', async () => {
    const stage = await createStage(browser());
    // Playwright's pages always report as visible, so create these tabs without Playwright. In the page, a second
    // passes in 10 ms. The page reports its visibility to the site.
    stage.publish(
      `<!doctype html><script>
        const real = setTimeout;
        window.setTimeout = (run, ms) => real(run, ms / 100);
        document.addEventListener('visibilitychange', () => fetch('/' + document.visibilityState));
      </script>${embed('data-interval="5"')}`,
    );
    const visited = (): string[] => stage.site.seen.map(({ path }) => path);
    const session = await browser().newBrowserCDPSession();
    const { targetId } = await session.send('Target.createTarget', { url: stage.site.url });
    await expect.poll(stage.requestCount).toBeGreaterThan(3);
    const other = await session.send('Target.createTarget', { url: 'about:blank' });
    await expect.poll(visited).toContain('/hidden');
    const newRequests = async (ms: number): Promise<number> => {
      const before = stage.requestCount();
      await delay(ms);
      return stage.requestCount() - before;
    };
    // A running request completes.
    await expect.poll(() => newRequests(500)).toBe(0);
    expect(await newRequests(3000)).toBe(0);
    const requests = stage.requestCount();
    await session.send('Target.activateTarget', { targetId });
    await expect.poll(stage.requestCount).toBeGreaterThan(requests + 3);
    expect(visited()).toContain('/visible');
    for (const tab of [targetId, other.targetId]) await session.send('Target.closeTarget', { targetId: tab });
  });

  test('a page that opens in a hidden tab sends no request', async () => {
    const script = (): void => {
      Object.defineProperty(document, 'hidden', { get: () => !('seen' in window), configurable: true });
    };
    const stage = await openStage(browser(), embed(), { status: 'up' }, { script, times: 0 });
    await stage.advance(600_000);
    expect(stage.requestCount()).toBe(0);
    await stage.page.evaluate(() => {
      Object.assign(window, { seen: true });
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await stage.advance(1, 1);
    expect(stage.requestCount()).toBe(1);
  });

  test('polling continues when the page is restored from the back/forward cache', async () => {
    const stage = await openStage(browser(), embed());
    const { page } = stage;
    await page.evaluate(() => Object.assign(window, { mark: 1 }));
    await page.goto('about:blank');
    stage.answer(web);
    const requests = stage.requestCount();
    await page.goBack({ waitUntil: 'commit' });
    expect(await page.evaluate(() => 'mark' in window)).toBe(true);
    await stage.advance(1, requests + 1 - stage.requestCount());
    await expectToast(stage, shown);
    await stage.advance(10_000, 1);
    expect(stage.requestCount()).toBe(requests + 2);
  });
});
