import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { describeChromium } from './chromium.ts';
import { createStage, embed, eventually, expectToast, openStage, pageTime } from './fixture.ts';
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
  ])('the interval varies by 15 per cent: with the random number %i it is %i ms', async (random, ms) => {
    const stage = await createStage(browser());
    await stage.page.addInitScript(`Math.random = () => ${random}`);
    await stage.open(embed());
    await stage.advance(ms - 1);
    expect(stage.requestCount()).toBe(1);
    await stage.advance(1, 1);
  });

  test.each<[string, Answer]>([
    ['a closed connection', 'down'],
    ['503 {"status":"error"}', { code: 503, text: '{"status":"error"}' }],
    ['502 with HTML', { code: 502, text: '<h1>Bad gateway</h1>' }],
    ['an unknown status', { status: 'excellent' }],
    ['null', { code: 200, text: 'null' }],
    ['an incident with a wrong status code', { code: 500, text: '{"status":"disrupted","disrupted":["Games"]}' }],
  ])('after %s, the widget keeps the last status, backs off, and recovers', async (_, failure) => {
    const stage = await createStage(browser());
    const errors: string[] = [];
    stage.page.on('pageerror', (error) => errors.push(error.message));
    stage.answer(web);
    await stage.open(embed());
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
    expect(errors).toEqual([]);
  });

  test('nothing is shown if the API was never reached', async () => {
    const stage = await openStage(browser(), embed(), 'down');
    await stage.advance(20_000, 1);
    await expectToast(stage, '');
  });

  test('a request is aborted after 8 s, and repeated', async () => {
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
    const refused = { code: 429, headers: { 'Retry-After': wait() }, text: 'rate limit exceeded\n' };
    const stage = await openStage(browser(), embed(), refused);
    stage.answer(web);
    await stage.advance(60_000);
    await stage.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await stage.advance(55_000);
    expect(stage.requestCount()).toBe(1);
    await stage.advance(7000, 1);
    await expectToast(stage, shown);
  });

  test('the fallback is read while the API cannot be reached, but not if the API reports an error status', async () => {
    const stage = await createStage(browser());
    stage.answer('down');
    stage.answerFallback(web);
    await stage.open(embed('data-fallback="/status.json"'));
    await expectToast(stage, shown);
    stage.answerFallback({ status: 'up' });
    stage.answer({ code: 503, text: '{"status":"error"}' });
    await stage.advance(20_000, 1);
    await expectToast(stage, shown);
    stage.answer({ code: 502, text: '<h1>Bad gateway</h1>' });
    await stage.advance(40_000, 1);
    await expectToast(stage, '');
  });

  test('data-api sets another API', async () => {
    const stage = await createStage(browser());
    stage.answerFallback(web);
    await stage.open(embed('data-api="/status.json"'), { times: 0 });
    await expectToast(stage, shown);
    expect(stage.requestCount()).toBe(0);
  });

  test('a hidden tab sends no request for 30 s, and polls at once when it becomes visible again', async () => {
    const stage = await createStage(browser());
    // Pages of Playwright always report as visible, so these tabs are created without it. In the page, a second passes
    // in 10 ms. The page sends its visibility to the site.
    stage.publish(
      `<!doctype html><script>
        const real = setTimeout;
        window.setTimeout = (run, ms) => real(run, ms / 100);
        document.addEventListener('visibilitychange', () => fetch('/' + document.visibilityState));
      </script>${embed('data-interval="5"')}`,
    );
    const session = await browser().newBrowserCDPSession();
    const { targetId } = await session.send('Target.createTarget', { url: stage.site });
    await vi.waitFor(() => expect(stage.requestCount()).toBeGreaterThan(3), eventually);
    const other = await session.send('Target.createTarget', { url: 'about:blank' });
    await vi.waitFor(() => expect(stage.visited).toContain('/hidden'), eventually);
    // A request that was under way arrives.
    await delay(1000);
    const requests = stage.requestCount();
    await delay(3000);
    expect(stage.requestCount()).toBe(requests);
    await session.send('Target.activateTarget', { targetId });
    await vi.waitFor(() => expect(stage.requestCount()).toBeGreaterThan(requests + 3), eventually);
    expect(stage.visited).toContain('/visible');
    for (const tab of [targetId, other.targetId]) await session.send('Target.closeTarget', { targetId: tab });
  });

  test('a page that opens in a hidden tab sends no request', async () => {
    const stage = await createStage(browser());
    await stage.page.addInitScript(() => {
      Object.defineProperty(document, 'hidden', { get: () => !('seen' in window), configurable: true });
    });
    await stage.open(embed(), { times: 0 });
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
