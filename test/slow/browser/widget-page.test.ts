import { expect, test } from 'vitest';
import { compileStatusWidget } from '../../../generator/static-files.ts';
import { contrastOf, describeChromium, luminanceOf, readShifts, watchShifts } from './chromium.ts';
import { createStage, embed, expectToast, openStage } from './fixture.ts';

const web = { status: 'disrupted', disrupted: ['Web'] };
const trouble = 'Some services are disrupted';

describeChromium((browser) => {
  test('the widget works under a strict content security policy', async () => {
    const stage = await createStage(browser());
    const errors: string[] = [];
    stage.page.on('console', (message) => errors.push(message.text()));
    stage.answer(web);
    const policy = `default-src 'none'; script-src {api}; connect-src {api}; require-trusted-types-for 'script'`;
    const { embed: served } = await compileStatusWidget();
    await stage.open(embed(`integrity="${served.integrity}" crossorigin`), { policy });
    await expectToast(stage, `${trouble} Web`);
    expect(await stage.inside('.box', (box) => getComputedStyle(box).position)).toBe('fixed');
    expect(errors).toEqual([]);
  });

  test('in a browser without constructable stylesheets, the style gets the nonce of the script', async () => {
    const script = (): void => void Object.assign(window, { CSSStyleSheet: undefined });
    const policy = `default-src 'none'; script-src 'nonce-abc'; style-src 'nonce-abc'; connect-src {api}`;
    const stage = await openStage(browser(), embed('nonce="abc"'), web, { script, policy });
    expect(await stage.inside('.box', (box) => getComputedStyle(box).position)).toBe('fixed');
  });

  test('a page that includes the script twice gets one widget, and no globals', async () => {
    const stage = await createStage(browser());
    const names = () => stage.page.evaluate(() => [Object.getOwnPropertyNames(window), Object.keys(window)].flat());
    await stage.open('<!doctype html><title>Site</title>', { times: 0 });
    const before = await names();
    stage.answer(web);
    const script = '<script src="{api}/v1/service-status.js"></script>';
    await stage.open(
      `<!doctype html><title>Site</title>${script}<p>Text.</p>${script}<script async src="data:text/javascript,"></script>`,
    );
    await expectToast(stage, `${trouble} Web`);
    await stage.page.addScriptTag({ url: `${stage.api.url}/v1/service-status.js` });
    await stage.advance(10_000, 1);
    expect(await names()).toEqual(before);
    expect(await stage.page.evaluate(() => document.querySelectorAll('service-status').length)).toBe(1);
    expect(await stage.page.evaluate(() => customElements.get('service-status'))).toBeUndefined();
    expect(stage.requestCount()).toBe(2);
  });

  test('the widget causes no layout shift, and intercepts no click outside the toast', async () => {
    const html = `${embed()}${'<p>More text.</p>'.repeat(200)}`;
    const stage = await openStage(browser(), html, { status: 'up' }, { script: watchShifts });
    for (const answer of [web, { ...web, maintenance: ['Games'] }, { status: 'up' }]) {
      await stage.poll(answer);
    }
    const shifts = () => readShifts(stage.page);
    expect(await shifts()).toEqual([]);
    const { width, height } = stage.page.viewportSize()!;
    const hit = await stage.page.evaluate(([x, y]) => document.elementFromPoint(x, y)?.localName, [
      width - 20,
      height - 20,
    ] as [number, number]);
    expect(hit).not.toBe('service-status');
    // The observer reports a real layout shift.
    await stage.page.evaluate(() => document.body.prepend(document.createElement('hr')));
    await expect.poll(shifts).toHaveLength(1);
  });

  test('the accessibility tree names the widget and its parts, even before there is text', async () => {
    const stage = await openStage(browser(), embed('data-href="https://status.example.com/"'));
    const session = await stage.page.context().newCDPSession(stage.page);
    const named = async () => {
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      return nodes
        .filter(({ ignored, role }) => !ignored && ['status', 'button', 'link'].includes(String(role?.value)))
        .map(({ role, name }) => `${role?.value}: ${name?.value}`);
    };
    expect(await named()).toEqual(['button: Own button', 'status: Service status']);
    await stage.poll(web);
    expect(await named()).toEqual(['button: Own button', 'status: Service status', 'link: Details', 'button: Dismiss']);
    const { width, height } = (await stage.page.locator('service-status button').boundingBox())!;
    expect(Math.min(width, height)).toBeGreaterThanOrEqual(24);
  });

  test("the page's styles cannot hide or restyle the widget, except with the custom properties", async () => {
    const stage = await openStage(
      browser(),
      `<!doctype html><style>service-status, p { display: none !important; position: fixed !important; color: red; font: 40px fantasy; }
        :not(:defined) { visibility: hidden; opacity: 0 }
        html { --service-status-bg: rgb(0, 0, 80); --service-status-fg: rgb(255, 255, 0); --service-status-z: 7 }
      </style>${embed()}`,
      web,
    );
    await expectToast(stage, `${trouble} Web`);
    const style = await stage.inside('.box', (box) => {
      const { backgroundColor, color, zIndex, fontSize, visibility } = getComputedStyle(box);
      return { backgroundColor, color, zIndex, fontSize, visibility };
    });
    expect(style).toEqual({
      backgroundColor: 'rgb(0, 0, 80)',
      color: 'rgb(255, 255, 0)',
      zIndex: '7',
      fontSize: '15px',
      visibility: 'visible',
    });
  });

  const theme = (name: string) => `document.querySelector('script').dataset.theme = '${name}'`;
  const scheme = (name: string) => `document.documentElement.style.colorScheme = '${name}'`;
  test.each([
    ['', 'light', '', false],
    ['', 'dark', '', false],
    ['', 'light', scheme('dark'), true],
    ['', 'dark', scheme('light'), false],
    ['', 'light', scheme('light dark'), false],
    ['data-theme="auto"', 'dark', scheme('light dark'), true],
    ['', 'light', 'document.head.innerHTML = \'<meta name="color-scheme" content="dark">\'', true],
    ['data-theme="light"', 'dark', scheme('dark'), false],
    ['data-theme="dark"', 'light', '', true],
    ['data-theme="dark"', 'light', theme('light'), false],
    ['', 'light', theme('dark'), true],
  ] as const)(
    'with "%s" in a %s system, after %s the toast is dark: %s',
    async (attribute, colorScheme, change, dark) => {
      const stage = await openStage(browser(), embed(attribute), web, { colorScheme });
      await stage.page.evaluate(change);
      const [background, text] = await stage.inside('.box', (box): [string, string] => {
        const { backgroundColor, color } = getComputedStyle(box);
        return [backgroundColor, color];
      });
      expect(luminanceOf(background) < luminanceOf(text)).toBe(dark);
      expect(contrastOf(background, text)).toBeGreaterThan(7);
    },
  );

  test('the toast respects reduced motion, has a border in forced colours, and is not printed', async () => {
    const stage = await openStage(browser(), embed(), web, { reducedMotion: 'reduce', forcedColors: 'active' });
    const style = () =>
      stage.inside('.box', (box) => {
        const { animationName, borderTopWidth, display } = getComputedStyle(box);
        return { animationName, borderTopWidth, display };
      });
    expect(await style()).toEqual({ animationName: 'none', borderTopWidth: '2px', display: 'flex' });
    await stage.page.emulateMedia({ reducedMotion: 'no-preference', forcedColors: 'none' });
    expect(await style()).toEqual({ animationName: 'appear', borderTopWidth: '1px', display: 'flex' });
    await stage.page.emulateMedia({ media: 'print' });
    expect(await style()).toMatchObject({ display: 'none' });
  });

  test.each([
    ['lang="en"', '', 'right', 'bottom'],
    ['lang="ar" dir="rtl"', '', 'left', 'bottom'],
    ['lang="en"', 'data-position="top-start"', 'left', 'top'],
    ['lang="ar" dir="rtl"', 'data-position="top-start"', 'right', 'top'],
    ['lang="en"', 'data-position="bottom-start"', 'left', 'bottom'],
  ])('in <html %s> with "%s", the toast is at the %s %s', async (html, position, side, edge) => {
    const stage = await openStage(browser(), embed(position).replace('lang="en"', html), web, {
      viewport: { width: 800, height: 600 },
    });
    const { box } = await stage.toast();
    expect(side === 'left' ? box.x : 800 - box.x - box.width).toBeCloseTo(16, 0);
    expect(edge === 'top' ? box.y : 600 - box.y - box.height).toBeCloseTo(16, 0);
  });

  test.each([
    ['lang="de"', '', 'en-GB', 'de', 'Einige Dienste sind gestört Web'],
    ['lang="de-AT"', 'data-lang="nl"', 'en-GB', 'nl', 'Sommige diensten zijn verstoord Web'],
    ['', '', 'fr-FR', 'fr', 'Certains services sont perturbés Web'],
    ['lang="ja"', '', 'pl-PL', 'pl', 'Niektóre usługi mają problemy Web'],
    ['lang="constructor"', '', 'es-ES', 'es', 'Algunos servicios tienen problemas Web'],
    ['lang="ja"', '', 'ja-JP', 'en', `${trouble} Web`],
    ['lang="hu"', 'data-text-disrupted="Zavar &lt;b&gt;"', 'de-DE', 'hu', 'Zavar <b> Web'],
  ])(
    'in <html %s> with "%s" and the browser language %s, the toast is in %s',
    async (html, attributes, locale, lang, text) => {
      const stage = await openStage(browser(), embed(attributes).replace('lang="en"', html), web, { locale });
      await expectToast(stage, text);
      expect(await stage.inside('.box', (box) => box.lang)).toBe(lang);
    },
  );
});
