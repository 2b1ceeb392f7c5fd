import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { describeChromium } from './chromium.ts';
import { createStage, embed, expectToast } from './stage.ts';
import type { Answer } from './stage.ts';

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
  ])('with the attribute "%s" asks every %i ms', async (attribute, ms) => {
    const stage = await createStage(browser());
    await stage.open(embed(attribute));
    await stage.pass(ms - 1000);
    expect(stage.asked()).toBe(1);
    await stage.pass(1000, 1);
    await stage.pass(ms - 1000);
    expect(stage.asked()).toBe(2);
    await stage.pass(1000, 1);
  });

  test.each([
    [0, 8500],
    [1, 11_500],
  ])('varies the interval by 15 per cent: at a draw of %i it is %i ms', async (draw, ms) => {
    const stage = await createStage(browser());
    await stage.page.addInitScript(`Math.random = () => ${draw}`);
    await stage.open(embed());
    await stage.pass(ms - 800);
    expect(stage.asked()).toBe(1);
    await stage.pass(800, 1);
  });

  test.each<[string, Answer]>([
    ['a connection that is cut', 'down'],
    ['503 {"status":"error"}', { code: 503, text: '{"status":"error"}' }],
    ['502 with HTML', { code: 502, text: '<h1>Bad gateway</h1>' }],
    ['a status of the future', { status: 'excellent' }],
    ['null', { code: 200, text: 'null' }],
    ['an incident with a wrong status code', { code: 500, text: '{"status":"disrupted","disrupted":["Games"]}' }],
  ])('keeps what it knew at %s, asks less and less, and comes back', async (_, failure) => {
    const stage = await createStage(browser());
    const errors: string[] = [];
    stage.page.on('pageerror', (error) => errors.push(error.message));
    stage.answer(web);
    await stage.open(embed());
    stage.answer(failure);
    await stage.pass(10_000, 1);
    for (const seconds of [20, 40, 80, 160, 300, 300]) {
      await stage.pass((seconds - 1) * 1000);
      const before = stage.asked();
      await stage.pass(1000, 1);
      expect(stage.asked()).toBe(before + 1);
    }
    await expectToast(stage, shown);
    stage.answer({ status: 'up' });
    await stage.pass(300_000, 1);
    await expectToast(stage, '');
    await stage.pass(10_000, 1);
    expect(errors).toEqual([]);
  });

  test('shows nothing at all where the API was never reached', async () => {
    const stage = await createStage(browser());
    stage.answer('down');
    await stage.open(embed());
    await stage.pass(20_000, 1);
    await expectToast(stage, '');
  });

  test('gives up after 8 s, and asks again', async () => {
    const stage = await createStage(browser());
    await stage.open(embed());
    stage.answer('hang');
    await stage.pass(10_000, 1);
    const failed = stage.page.waitForEvent('requestfailed');
    await stage.pass(8000);
    await failed;
    stage.answer(web);
    await stage.pass(20_000, 1);
    await expectToast(stage, shown);
  });

  test.each([
    ['seconds', () => '120'],
    ['a date', () => new Date(Date.now() + 121_000).toUTCString()],
  ])('waits as long as Retry-After says in %s, also when the page is seen again', async (_, wait) => {
    const stage = await createStage(browser());
    stage.answer({ code: 429, headers: { 'Retry-After': wait() }, text: 'rate limit exceeded\n' });
    await stage.open(embed());
    stage.answer(web);
    await stage.pass(60_000);
    await stage.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await stage.pass(55_000);
    expect(stage.asked()).toBe(1);
    await stage.pass(7000, 1);
    await expectToast(stage, shown);
  });

  test('reads the fallback while the API cannot be reached, but not where nobody knows', async () => {
    const stage = await createStage(browser());
    stage.answer('down');
    stage.answerFallback(web);
    await stage.open(embed('data-fallback="/status.json"'));
    await expectToast(stage, shown);
    stage.answerFallback({ status: 'up' });
    stage.answer({ code: 503, text: '{"status":"error"}' });
    await stage.pass(20_000, 1);
    await expectToast(stage, shown);
    stage.answer({ code: 502, text: '<h1>Bad gateway</h1>' });
    await stage.pass(40_000, 1);
    await expectToast(stage, '');
  });

  test('asks another API where it is told of one', async () => {
    const stage = await createStage(browser());
    stage.answerFallback(web);
    await stage.open(embed('data-api="/status.json"'), { times: 0 });
    await expectToast(stage, shown);
    expect(stage.asked()).toBe(0);
  });

  test('asks nothing for 30 s in a hidden tab, and at once when it is seen again', async () => {
    const stage = await createStage(browser());
    // Playwright lets its pages believe that they are in front: these tabs are none of them. In the page, a second
    // passes in 10 ms, and it tells the site when it is seen and when not.
    stage.publish(
      `<!doctype html><script>
        const real = setTimeout;
        window.setTimeout = (run, ms) => real(run, ms / 100);
        document.addEventListener('visibilitychange', () => fetch('/' + document.visibilityState));
      </script>${embed('data-interval="5"')}`,
    );
    const session = await browser().newBrowserCDPSession();
    const { targetId } = await session.send('Target.createTarget', { url: stage.site });
    await vi.waitFor(() => expect(stage.asked()).toBeGreaterThan(3), 5000);
    const other = await session.send('Target.createTarget', { url: 'about:blank' });
    await vi.waitFor(() => expect(stage.visited).toContain('/hidden'), 5000);
    const asked = stage.asked();
    await delay(3000);
    expect(stage.asked()).toBe(asked);
    await session.send('Target.activateTarget', { targetId });
    await vi.waitFor(() => expect(stage.asked()).toBeGreaterThan(asked + 3), 5000);
    expect(stage.visited).toContain('/visible');
    for (const tab of [targetId, other.targetId]) await session.send('Target.closeTarget', { targetId: tab });
  });

  test('asks nothing where a page opens in a hidden tab', async () => {
    const stage = await createStage(browser());
    await stage.page.addInitScript(() => {
      Object.defineProperty(document, 'hidden', { get: () => !('seen' in window), configurable: true });
    });
    await stage.open(embed(), { times: 0 });
    await stage.pass(600_000);
    expect(stage.asked()).toBe(0);
    await stage.page.evaluate(() => {
      Object.assign(window, { seen: true });
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await vi.waitFor(() => expect(stage.asked()).toBe(1), 5000);
  });

  test('goes on when the page comes back from the back/forward cache', async () => {
    const stage = await createStage(browser());
    const { page } = stage;
    await stage.open(embed());
    await page.evaluate(() => Object.assign(window, { mark: 1 }));
    await page.goto('about:blank');
    stage.answer(web);
    const asked = stage.asked();
    await page.goBack({ waitUntil: 'commit' });
    expect(await page.evaluate(() => 'mark' in window)).toBe(true);
    await stage.pass(1, asked + 1 - stage.asked());
    await expectToast(stage, shown);
    await stage.pass(10_000, 1);
    expect(stage.asked()).toBe(asked + 2);
  });
});
