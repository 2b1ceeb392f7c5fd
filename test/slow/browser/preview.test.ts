import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { startDev } from '../../helpers/dev.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { article, buildProject, createProject, guide, runGenerator, writeFiles } from '../../helpers/project.ts';
import type { Files } from '../../helpers/project.ts';
import { describeChromium, findBarriers, newPage, openPage, screens, servePage } from './chromium.ts';

const first = 'content/blog/news/first.md';
const paragraphs = 'A paragraph to scroll past.\n\n'.repeat(60);
const everything = (end: string): string => `## Code

\`\`\`bash
# This line is wider than a phone's screen.
for server in web db cache queue; do systemctl restart "$server" --now || echo "failed: $?"; done
\`\`\`

## Details

| Plan  | RAM | Price | Traffic   | Backups | Location    | Support |
| ----- | --: | ----: | --------- | ------- | ----------- | ------- |
| Small |   2 |  3.50 | unlimited | daily   | Falkenstein | email   |

> [!WARNING]
> Back up first.

- [x] done
- [ ] open

![The map](/media/kb/map.svg) and a footnote[^1], <kbd>Ctrl</kbd>, \`code\` and [records](/knowledgebase/dns/records).

[^1]: The note.

${paragraphs}## The end

${end}
`;

const widthOf = (page: Page): Promise<number> =>
  page.locator('.page').evaluate((element) => element.getBoundingClientRect().width);

/** Starts `npm run dev` in a project. */
async function startPreview(files: Files = {}, ...args: string[]) {
  const port = String(await findFreePort());
  const settings = { PORT: port, DNS_SERVERS: 'off', RDAP_BOOTSTRAP_URL: 'http://127.0.0.1:9/' };
  const dev = await startDev({ [first]: article({}, everything('The last words.')), ...files }, args, settings);
  await expect.poll(dev.printed).toContain('"msg":"preview"');
  return { ...dev, url: `http://127.0.0.1:${port}` };
}

describeChromium((browser) => {
  const open = (address: string, options: BrowserContextOptions = {}): Promise<Page> =>
    openPage(browser(), address, options);

  test('a page of another origin cannot read from dev', async () => {
    const { url } = await startPreview();
    const site = await servePage('Hi');
    const read = async (host: string): Promise<string[]> => {
      // The page's host name resolves to this machine.
      const page = await openPage(browser(), site.replace('127.0.0.1', host), {
        origins: [url],
        expected: /CORS|ERR_FAILED|404/,
      });
      return page.evaluate(async (base) => {
        const targets = ['/v1/blog/list', '/v1/blog/list?x=1', '/preview', '/nothing'];
        const texts = targets.map((target) =>
          fetch(base + target).then(
            (answer) => answer.text(),
            () => 'refused',
          ),
        );
        return Promise.all(texts);
      }, url);
    };
    expect(await read('evil.localhost')).toEqual(['refused', 'refused', 'refused', 'refused']);
    expect((await read('localhost'))[0]).toContain('A title');
  });

  describe('the pages', () => {
    test('are accessible in light and dark and on a phone, including the overlay of problems', async () => {
      const { root, url } = await startPreview();
      for (const [screen, options] of screens) {
        // axe runs as a script in the page.
        const list = await open(`${url}/preview`, { ...options, bypassCSP: true });
        const page = await open(`${url}/preview/blog/news/first`, { ...options, bypassCSP: true });
        writeFiles(root, { 'content/blog/news/second.md': article({ titel: 'Typo' }, 'Text.\n') });
        await page.waitForSelector('.overlay');
        for (const each of [list, page]) expect(await findBarriers(each), screen).toEqual([]);
        writeFiles(root, { 'content/blog/news/second.md': article({}, 'Text.\n') });
        await page.waitForSelector('.overlay', { state: 'detached' });
        for (const each of [list, page]) expect(await findBarriers(each), screen).toEqual([]);
      }
    });

    test('of a folder are accessible without a server, and lead to each other', async () => {
      const root = createProject({ [first]: article({ draft: 'true' }, everything('The last words.')) });
      await runGenerator(['build', '--lenient', '--preview', 'preview'], { cwd: root });
      const address = pathToFileURL(join(root, 'preview/index.html')).href;
      for (const [screen, options] of screens) {
        const page = await newPage(browser(), options);
        await page.goto(address);
        expect(await findBarriers(page), screen).toEqual([]);
        await page.click('text=A title');
        await page.waitForSelector('article h2');
        expect(await page.evaluate(() => [...document.images].every(({ naturalWidth }) => naturalWidth > 0))).toBe(
          true,
        );
        expect(await findBarriers(page), screen).toEqual([]);
        const control = page.getByLabel('Phone width');
        expect(await control.isVisible()).toBe(screen !== 'phone');
        if (screen !== 'phone') {
          await control.check();
          expect(await widthOf(page)).toBe(375);
          expect(await findBarriers(page), screen).toEqual([]);
        }
        await page.click('text=records');
        await page.waitForSelector('text=DNS records');
      }
    });

    test('show an article in the width of a phone by the keyboard, also after a save', async () => {
      const { root, url } = await startPreview();
      const page = await open(`${url}/preview/blog/news/first`, { viewport: { width: 1200, height: 900 } });
      expect(await widthOf(page)).toBeGreaterThan(600);
      for (const key of ['Tab', 'Tab', 'Space']) await page.keyboard.press(key);
      expect(await widthOf(page)).toBe(375);
      writeFiles(root, { [first]: article({}, everything('Other last words.')) });
      await page.getByText('Other last words.').waitFor();
      expect(await widthOf(page)).toBe(375);
      expect(await page.locator('.page').evaluate((element) => element.scrollWidth)).toBe(375);
      await page.keyboard.press('Space');
      expect(await widthOf(page)).toBeGreaterThan(600);
    });

    test('list all articles with their marks, and filter the list while typing', async () => {
      const { url } = await startPreview(
        {
          'content/blog/news/second.md': article({ title: 'Later', date: '2100-01-02' }, 'Text.\n'),
          'content/knowledgebase/vps/ssh.md': guide('Connect with SSH', 'Text.\n').replace(
            '---\n\n',
            'draft: true\n---\n\n',
          ),
          'content/knowledgebase/dns/records.md': guide('DNS records', 'See [this](/blog/news/none).\n'),
        },
        '--lenient',
      );
      const page = await open(`${url}/preview`);
      const rows = (): Promise<string[]> => page.locator('.list li').allInnerTexts();
      expect((await rows()).map((row) => row.replaceAll(/\s+/g, ' '))).toEqual([
        'Later scheduled for 2100-01-02 blog/news · 2100-01-02',
        'A title blog/news · 2026-01-01',
        'Connect with SSH draft knowledgebase/vps',
        'DNS records 1 warning knowledgebase/dns',
      ]);
      await page.getByLabel('Search').pressSequentially('dns rec');
      await expect.poll(rows).toHaveLength(1);
      expect(page.url()).toBe(`${url}/preview?q=dns+rec`);
      await page.getByLabel('Search').fill('');
      await page.getByLabel('Show').selectOption('drafts');
      await expect.poll(rows).toEqual([expect.stringContaining('Connect with SSH')]);
      await page.getByLabel('Show').selectOption('');
      await page.getByLabel('Category').selectOption('blog/news');
      await expect.poll(rows).toHaveLength(2);
      await page.reload();
      expect(await rows()).toHaveLength(2);
    });

    test("show the API's html, the cover, the front matter, and outgoing and incoming links", async () => {
      const { url } = await startPreview({
        'content/knowledgebase/vps/ssh.md': guide('Connect with SSH', 'After [the news](/blog/news/first#details).\n'),
      });
      const page = await open(`${url}/preview/blog/news/first`);
      const answer = (await (await fetch(`${url}/v1/blog/article?path=/blog/news/first`)).json()) as { html: string };
      const shown = await page.locator('.markdown-body').evaluate((element) => element.innerHTML);
      const parsed = await page.evaluate((html) => {
        const element = document.createElement('div');
        element.innerHTML = html;
        return element.innerHTML;
      }, answer.html);
      // Pictures and links between articles have a separate URL in the preview.
      const plain = shown.replaceAll(/\/preview(\/media\/[^"?]+)\?[\d.]+/g, '$1').replaceAll('"/preview/', '"/');
      expect(plain.trim()).toBe(parsed.trim());
      expect(await page.locator('.cover').getAttribute('src')).toMatch(/^\/preview\/media\/covers\/cover\.svg\?/);
      expect(await page.locator('.facts').innerText()).toBe('News · 2026-01-01 · Marit · 2 min read');
      const aside = await page.locator('aside').innerText();
      for (const text of ['DNS records', 'Connect with SSH', 'cover: /media/covers/cover.svg']) {
        expect(aside).toContain(text);
      }
      await page.locator('.markdown-body').getByText('records').click();
      await page.waitForURL(`${url}/preview/knowledgebase/dns/records`);
    });
  });

  describe('after a save', () => {
    test('an open page shows the change without a reload, at the same scroll position', async () => {
      const { root, url, printed } = await startPreview();
      const page = await open(`${url}/preview/blog/news/first`, { viewport: { width: 800, height: 500 } });
      await page.evaluate(() => {
        window.name = 'the same page';
        document.querySelector('#the-end')!.scrollIntoView();
      });
      expect(await page.evaluate(() => scrollY)).toBeGreaterThan(500);
      // Relative to the screen: a lazily loaded picture further up may change `scrollY`.
      const place = (): Promise<number> =>
        page.locator('#the-end').evaluate((heading) => Math.round(heading.getBoundingClientRect().top));
      const before = await place();
      writeFiles(root, { [first]: article({ title: 'Another title' }, everything('Other last words.')) });
      await page.getByText('Other last words.').waitFor();
      expect(await page.title()).toBe('Another title - preview');
      expect([await page.evaluate(() => window.name), await place()]).toEqual(['the same page', before]);
      expect(printed()).toMatch(/^changed content\/blog\/news\/first\.md; built: 4 articles, .*\d+ ms$/m);
    });

    test('a new picture appears without a reload', async () => {
      const { root, url } = await startPreview();
      const page = await newPage(browser());
      await page.goto(`${url}/preview/knowledgebase/vps/ssh`);
      const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"/>';
      writeFiles(root, {
        'content/media/kb/rack.svg': svg,
        'content/knowledgebase/vps/ssh.md': guide(
          'Connect with SSH',
          '![Map](/media/kb/map.svg) ![Rack](/media/kb/rack.svg)\n',
        ),
      });
      const rack = page.getByAltText('Rack');
      await rack.waitFor({ state: 'attached' });
      const width = (): Promise<number> => rack.evaluate((image: HTMLImageElement) => image.naturalWidth);
      await expect.poll(width).toBe(40);
    });

    test('a problem covers the page with its position, hint and line, until it is fixed', async () => {
      const { root, url, printed } = await startPreview({ 'content/blog/news/second.md': article({}, 'Text.\n') });
      const page = await open(`${url}/preview/knowledgebase/vps/ssh`);
      const title = 'Auftragsverarbeitungsvertragsbestandteilsverzeichnis';
      const broken = article({ title, description: title.repeat(3) }, 'See [the rest](/blog/news/secnd).\n');
      writeFiles(root, { [first]: broken });
      const overlay = page.locator('.overlay');
      await overlay.waitFor();
      const text = await overlay.innerText();
      expect(text).toContain(`${first}:9:5 there is no article /blog/news/secnd`);
      expect(text).toContain('did you mean "/blog/news/second"?');
      expect(text).toContain('9 | See [the rest](/blog/news/secnd).\n  |     ^');
      const small = await open(`${url}/preview/blog/news/first`, { viewport: { width: 320, height: 800 } });
      const own = small.locator('main .problem');
      expect([await own.count(), await own.isVisible()]).toEqual([1, false]);
      await small.keyboard.press('Escape');
      expect(await own.isVisible()).toBe(true);
      expect(await small.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
      await page.keyboard.press('Escape');
      expect(await overlay.isVisible()).toBe(false);
      // Saving again with the same problem does not reopen the overlay, but prints the problem again.
      writeFiles(root, { 'content/knowledgebase/vps/ssh.md': guide('Connect with SSH', 'Other text.\n') });
      await expect.poll(printed).toMatch(/ssh\.md; not built, still content\/blog\/news\/first\.md:9:5 /);
      expect(await overlay.isVisible()).toBe(false);
      // A different problem reopens the overlay.
      writeFiles(root, { [first]: broken.replace('secnd', 'thrd') });
      await overlay.getByText('/blog/news/thrd', { exact: false }).first().waitFor();
      writeFiles(root, { [first]: article({}, 'See [the rest](/blog/news/second).\n') });
      await overlay.waitFor({ state: 'detached' });
      await page.getByText('Other text.').waitFor();
    });

    test('a page reports a lost connection', async () => {
      const { url, end } = await startPreview();
      const page = await newPage(browser());
      await page.goto(`${url}/preview`);
      await end();
      const connection = page.locator('#connection');
      await expect.poll(() => connection.innerText()).toContain('check that npm run dev is running');
    });
  });
});

describe('drafts and scheduled articles', () => {
  const files = {
    'content/blog/news/draft.md': article({ title: 'A draft', draft: 'true' }, 'Text.\n'),
    'content/blog/news/later.md': article({ title: 'Later', date: '2100-01-02' }, 'Text.\n'),
  };

  test('are in the preview and never in dist/current', async () => {
    const { root, url, read } = await startPreview(files);
    const current = join(root, 'dist/current/public/v1/blog');
    const list = (await (await fetch(`${url}/v1/blog/list`)).json()) as { title: string }[];
    expect(list.map(({ title }) => title)).toEqual(['Later', 'Second', 'A draft', 'A title']);
    expect(existsSync(join(root, 'dist/current'))).toBe(false);
    await buildProject(root, { now: '2026-11-20' });
    writeFiles(root, { 'content/blog/news/draft.md': article({ title: 'Renamed', draft: 'true' }, 'Text.\n') });
    await expect.poll(() => read('public/v1/blog/list.json')).toContain('Renamed');
    expect(readFileSync(join(current, 'list.json'), 'utf8')).not.toMatch(/Renamed|A draft|Later/);
    expect(existsSync(join(current, 'article/news/draft.json'))).toBe(false);
  });

  test('can be hidden, or previewed as of another day', async () => {
    const { read } = await startPreview(files, '--no-drafts', '--now', '2100-01-02');
    expect(read('public/v1/blog/list.json')).toContain('Later');
    expect(read('public/v1/blog/list.json')).not.toContain('A draft');
  });
});
