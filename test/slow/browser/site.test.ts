import { setTimeout as delay } from 'node:timers/promises';
import { parseFragment, serialize } from 'parse5';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { BlogIndexItem, CategoryItem, KnowledgeBaseArticle, KnowledgeBaseSummary } from '#contract/articles.ts';
import type { PlanCatalogResponse } from '#contract/plans.ts';
import { serveExampleSite, startExampleSite, startSampleApi } from '../../helpers/example-site.ts';
import type { ExampleSite } from '../../helpers/example-site.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { createKumaUpstream } from '../../helpers/upstream-kuma.ts';
import { createUpstream, serve } from '../../helpers/upstream.ts';
import {
  describeChromium,
  findBarriers,
  newPage,
  openPage,
  openShadowRoots,
  readShifts,
  screens,
  watchShifts,
} from './chromium.ts';

// Each test opens several pages in a browser.

const guide = '/knowledgebase/vps/backups-and-snapshots';
const post = '/blog/company-news/rotterdam-location';

const articles = [
  ['blog', post, 'company-news'],
  ['kb', guide, 'vps'],
] as const;

type IndexItem = z.infer<typeof BlogIndexItem>;

describeChromium((browser) => {
  /** Opens a page of the site; its requests may fail with these statuses. */
  const open = async (
    { url, app }: ExampleSite,
    path: string,
    { failures = [], ...options }: BrowserContextOptions & { failures?: number[] } = {},
  ): Promise<Page> => {
    const expected = new RegExp(`status of (?:${failures.join('|') || 'none'})`);
    const allowed = { locale: 'en-GB', origins: [app.url], expected };
    const page = await openPage(browser(), url + path, { ...allowed, ...options });
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
    return page;
  };
  const read = async <Body>({ app }: ExampleSite, path: string): Promise<Body> =>
    (await (await app.request(path)).json()) as Body;
  const titles = (page: Page): Promise<string[]> => page.locator('.cards :is(h2, h3)').allInnerTexts();

  describe('the pages of the example site', () => {
    test.for(screens)('are accessible, and no wider than the screen: %s', async ([, options]) => {
      const site = await startExampleSite();
      const lists = ['/', '/blog', '/knowledgebase', '/plans', '/domains?domain=example', '/status', '/none'];
      const paths = [...lists, post, guide];
      for (const path of paths) {
        const page = await open(site, path, { ...options, failures: [404], bypassCSP: true });
        // The corner of a Markdown table is always a header cell.
        expect(await findBarriers(page, ['empty-table-header']), path).toEqual([]);
        await page.context().close();
      }
    });

    test("show the API's plans, articles and TLDs", async () => {
      const site = await startExampleSite();
      const posts = (await read<KnowledgeBaseSummary[]>(site, '/v1/blog/list')).map(({ title }) => title);
      const guides = await read<KnowledgeBaseSummary[]>(site, '/v1/kb/list');
      const { services, games } = await read<PlanCatalogResponse>(site, '/v1/plans');
      const groups = [...Object.values(services), ...Object.values(games)];
      const { tlds } = await read<{ tlds: { tld: string }[] }>(site, '/v1/domains/tlds');

      const home = await open(site, '/');
      expect(await titles(home)).toEqual([...groups.map(({ name }) => name), ...posts.slice(0, 3)]);
      expect(await home.locator('.offers').innerText()).toContain('from €2.49');
      expect(await titles(await open(site, '/blog'))).toEqual(posts);
      const plans = await open(site, '/plans');
      const products = plans.getByRole('navigation', { name: 'Products' }).getByRole('link');
      expect(await products.allInnerTexts()).toEqual(groups.map(({ name }) => name));
      for (const group of groups) {
        await products.getByText(group.name, { exact: true }).click();
        await plans.getByRole('heading', { name: group.name, exact: true }).waitFor();
        const names = group.plans.map(({ name }) => name);
        const rows = plans.locator('tbody tr');
        expect((await rows.locator('th').allInnerTexts()).map((text) => text.split(/\s+Our pick/)[0])).toEqual(names);
        const [first] = group.plans;
        const cells = [`${first!.ram} GB`, `${first!.storage} GB`, `€${first!.price.toFixed(2)}`];
        const shown = await rows.first().locator('td').allInnerTexts();
        expect(shown.map((cell) => cell.split(/\s+(?:Order|Sold out)/)[0])).toEqual(cells);
      }
      // The address of a product, as on the start page.
      await plans.goto(`${site.url}/plans#rust`);
      await expect
        .poll(() => plans.locator('.note').innerText())
        .toBe('All places are taken. New nodes for Rust go into service in Helsinki in January 2027.');
      expect(await plans.getByRole('link', { name: /^Order/ }).count()).toBe(0);
      await plans.goto(`${site.url}/plans#vps`);
      const order = plans.getByRole('link', { name: 'Order VPS 8' });
      expect(await order.getAttribute('href')).toBe('https://clients.example.com/cart?pid=113');
      expect(await plans.locator('.highlighted th').innerText()).toMatch(/^VPS 8\s+Our pick$/);
      const vps32 = plans.getByRole('row', { name: /VPS 32/ });
      expect(await vps32.innerText()).toContain('Sold out');
      expect(await vps32.getByRole('link').count()).toBe(0);
      const help = await open(site, '/knowledgebase');
      expect((await help.locator('.guides li').allInnerTexts()).toSorted()).toEqual(
        guides.map(({ title }) => title).toSorted(),
      );
      const domains = await open(site, '/domains');
      expect(await domains.locator('#prices tbody th').allInnerTexts()).toEqual(tlds.map(({ tld }) => tld));
      expect(await domains.getByRole('row', { name: /^\.de / }).innerText()).toMatch(/€5\.99\s+€6\.99\s+free/);
    });

    test('start with a link to the content, and have cards that are links', async () => {
      const site = await startExampleSite();
      const page = await open(site, '/blog');
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement!.textContent)).toBe('Skip to content');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      const [first] = await read<KnowledgeBaseSummary[]>(site, '/v1/blog/list');
      await page
        .locator('.card')
        .first()
        .click({ position: { x: 50, y: 50 } });
      await page.waitForURL(site.url + first!.path);
    });

    test('do not shift when responses of a slow API arrive', async () => {
      const site = await startExampleSite();
      for (const [name, options] of screens.filter(([scheme]) => scheme !== 'dark')) {
        for (const path of ['/status', post, guide]) {
          const page = await newPage(browser(), options);
          await page.route('**/v1/**', async (route) => delay(300).then(() => route.continue()));
          await page.addInitScript(watchShifts);
          await page.goto(site.url + path);
          await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
          await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
          const sum = (await readShifts(page)).reduce((all, shift) => all + shift, 0);
          expect(sum, `${path} ${name}`).toBeLessThan(0.05);
        }
      }
    });

    test('fit a screen of 320 px, even with long words', async () => {
      const site = await startExampleSite();
      const viewport = { width: 320, height: 640 };
      for (const path of ['/', '/knowledgebase', '/plans', '/domains', '/status', post]) {
        const page = await open(site, path, { viewport });
        const width = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);
        expect(await width(), path).toBe(320);
        await page.evaluate(() => {
          for (const element of document.querySelectorAll('main :is(h1, h2, h3, p, a, li, th, label)')) {
            if (element.childElementCount === 0) element.textContent = 'Auftragsverarbeitungsvertragsunterzeichnung';
          }
        });
        expect(await width(), path).toBe(320);
        await page.context().close();
      }
    });

    test('are shown while the API hangs, and offer a retry after 8 s', async () => {
      const silent = await serve(() => {});
      const url = await serveExampleSite(silent);
      for (const path of ['/plans', '/knowledgebase/vps/first-steps']) {
        const page = await newPage(browser());
        // Neither event would fire if the page waited for the API.
        await page.goto(url + path, { waitUntil: 'domcontentloaded' });
        await page.getByText('Loading…').waitFor();
        const painted = () => page.evaluate(() => performance.getEntriesByName('first-contentful-paint').length);
        await expect.poll(painted).toBe(1);
        await page.getByText('Our servers did not answer in time.').waitFor();
        await page.getByRole('button', { name: 'Try again' }).click();
        await page.getByText('Loading…').waitFor();
      }
    });

    test('report an unreachable API, and retry', async () => {
      const site = await startExampleSite();
      const page = await open(site, '/status');
      // The browser reports the aborted request.
      page.removeAllListeners('console');
      await page.route('**/v1/plans', (route) => route.abort(), { times: 1 });
      await page.goto(`${site.url}/plans`);
      await expect.poll(() => page.getByRole('alert').innerText()).toContain('could not reach our servers');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('link', { name: 'VPS', exact: true }).click();
      await page.getByRole('link', { name: 'Order VPS 8' }).waitFor();
    });
  });

  test('the lists of articles show a single category, and the number of articles per category', async () => {
    const site = await startExampleSite();
    const page = await open(site, '/blog');
    const categories = await read<CategoryItem[]>(site, '/v1/blog/categories');
    const links = page.getByRole('navigation', { name: 'Categories' }).getByRole('link');
    const all = categories.reduce((sum, { count }) => sum + count, 0);
    expect(await links.allInnerTexts()).toEqual([
      `All (${all})`,
      ...categories.map(({ name, count }) => `${name} (${count})`),
    ]);
    await page.getByRole('link', { name: 'Engineering' }).click();
    await page.waitForURL(`${site.url}/blog?category=engineering`);
    const count = categories.find(({ slug }) => slug === 'engineering')!.count;
    await expect.poll(() => titles(page)).toHaveLength(count);
    expect(await page.locator('.categories [aria-current=page]').innerText()).toBe(`Engineering (${count})`);
    const help = await open(site, '/knowledgebase?category=vps');
    const guides = await read<KnowledgeBaseSummary[]>(site, '/v1/kb/list?category=vps');
    expect(await help.locator('.guides li').allInnerTexts()).toEqual(guides.map(({ title }) => title));
  });

  test('the search tolerates typing errors, and its results can be linked', async () => {
    const site = await startExampleSite();
    const page = await open(site, '/knowledgebase');
    const first = page.locator('#found li h2').first();
    await page.getByRole('searchbox').pressSequentially('revrse dns');
    await expect.poll(() => first.innerText()).toBe('Setting reverse DNS');
    expect(await page.locator('.guides').isVisible()).toBe(false);
    expect(page.url()).toBe(`${site.url}/knowledgebase?q=revrse+dns`);
    await page.getByRole('searchbox').fill('zzzzqqq');
    await page.getByText('No guides for “zzzzqqq”').waitFor();
    await page.getByRole('searchbox').fill('');
    await page.locator('.guides').waitFor();
    const linked = await open(site, '/knowledgebase?q=snapshot');
    await linked.getByRole('link', { name: 'Backups and snapshots of a VPS' }).first().click();
    await linked.waitForURL(site.url + guide);
  });

  describe('an article', () => {
    test.each(articles)("of %s is the API's html, with its pictures", async (kind, path) => {
      const site = await startExampleSite();
      const article = await read<KnowledgeBaseArticle>(site, `/v1/${kind}/article?path=${path}`);
      const page = await open(site, path);
      const shown = await page.locator('.markdown-body').evaluate((element) => {
        for (const box of element.querySelectorAll('.code')) box.replaceWith(box.querySelector('pre')!);
        return element.innerHTML;
      });
      const expected = article.html.replaceAll('src="/media/', `src="${site.app.url}/media/`);
      expect(shown).toBe(serialize(parseFragment(expected)));
      expect(await page.title()).toBe(`${article.title} - Example Hosting`);
      expect(await page.locator('h1').innerText()).toBe(article.title);
      for (const image of await page.locator('article img').all()) {
        await image.scrollIntoViewIfNeeded();
        await expect.poll(() => image.evaluate((each: HTMLImageElement) => each.naturalWidth)).toBeGreaterThan(0);
      }
    });

    test("has the API's style, an outline, and links to other articles", async () => {
      const site = await startExampleSite();
      const page = await open(site, guide);
      const color = (selector: string): Promise<string> =>
        page
          .locator(selector)
          .first()
          .evaluate((element) => getComputedStyle(element).color);
      expect(await color('.hljs-attr')).not.toBe(await color('.markdown-body p'));
      await page.getByRole('navigation', { name: 'On this page' }).getByText('Test the restore').click();
      await expect
        .poll(() => page.evaluate(() => document.querySelector('#test-the-restore')!.getBoundingClientRect().top < 200))
        .toBe(true);
      const marked = page.locator('.outline [aria-current]');
      await expect.poll(() => marked.allInnerTexts()).toEqual(['Test the restore']);
      expect(await color('.markdown-body p > a')).toBe(await color('.crumbs a'));
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.getByRole('button', { name: 'Copy' }).first().click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
        await page.locator('pre').first().innerText(),
      );
      await page.locator('.markdown-body a[href^="/blog/"]').first().click();
      await page.waitForURL(`${site.url}/blog/company-news/rotterdam-location#what-runs-where`);
      // A link to a heading scrolls there, although the article loads after the page.
      await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(200);
    });

    test('shows its tags, neighbours and related articles', async () => {
      const site = await startExampleSite();
      for (const [kind, path, category] of articles) {
        const index = await read<IndexItem[]>(site, `/v1/${kind}/index?category=${category}`);
        const entry = index.find((each) => each.path === path)!;
        const page = await open(site, path);
        const footer = page.locator('.neighbours');
        await footer.getByRole('heading', { name: 'Related' }).waitFor();
        const paths = await footer
          .getByRole('link')
          .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
        expect(paths).toEqual([...entry.related, entry.previous, entry.next].filter((each) => each !== null));
        expect(await footer.locator('.tags li').allInnerTexts()).toEqual(entry.tags);
        const list = await read<KnowledgeBaseSummary[]>(site, `/v1/${kind}/list`);
        const title = list.find((each) => each.path === entry.related[0])!.title;
        await footer.getByRole('link', { name: title }).first().click();
        await page.waitForURL(site.url + entry.related[0]!);
      }
    });

    test('is shown at its current path after a link to a former path', async () => {
      const site = await startExampleSite();
      const [[former, present] = []] = Object.entries(await read<Record<string, string>>(site, '/v1/redirects.json'));
      const page = await open(site, `${former!}#end`);
      expect(page.url()).toBe(`${site.url}${present!}#end`);
    });

    test('is shown at its current path by a server without redirects', async () => {
      const port = String(await findFreePort());
      const url = await serveExampleSite(`http://127.0.0.1:${port}`);
      const former = '/blog/company-news/new-prices-2026';
      // The API is not running yet, so the server caches an empty list of redirects for a minute.
      expect((await fetch(url + former, { redirect: 'manual' })).status).toBe(200);
      const page = await open({ url, ...(await startSampleApi({ PORT: port })) }, former);
      expect(page.url()).toBe(`${url}/blog/company-news/price-changes-april-2026`);
      expect(await page.locator('link[rel=canonical]').getAttribute('href')).toBe(page.url());
    });

    test('that does not exist shows an error, and is hidden from search engines', async () => {
      const page = await open(await startExampleSite(), '/knowledgebase/vps/none', { failures: [404] });
      expect(await page.locator('h1').innerText()).toBe('Article not found');
      expect(await page.locator('meta[name=robots]').getAttribute('content')).toBe('noindex');
    });

    test('of the knowledge base sends a vote to the editors once, and explains the limit', async () => {
      const chat = await createUpstream(() => ({ status: 204 }));
      const site = await startExampleSite({
        CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/hook`,
        FEEDBACK_RATELIMIT_WINDOW_SECONDS: '600',
      });
      const page = await open(site, guide);
      await page.getByRole('button', { name: 'Yes' }).click();
      await page.getByText('Thank you. Our editors read every vote.').waitFor();
      expect(await page.getByRole('button', { name: 'Yes' }).count()).toBe(0);
      // The focus continues after the answer, not at the top of the page.
      expect(await page.evaluate(() => document.activeElement!.role)).toBe('status');
      expect(chat.seen).toHaveLength(1);
      // Punctuation is escaped for the chat.
      expect(chat.seen[0]!.body.replaceAll('\\', '')).toContain(guide);
      const other = await open(site, '/knowledgebase/vps/first-steps', { failures: [429] });
      await other.getByRole('button', { name: 'No' }).click();
      await other
        .getByText('Your vote was not sent. Too many requests from your network. Please wait 600 seconds.')
        .waitFor();
      expect(await other.getByRole('button', { name: 'No' }).isEnabled()).toBe(true);
      expect(chat.seen).toHaveLength(1);
    });

    test("of the knowledge base confirms a vote even if the editors' chat is down", async () => {
      const chat = await createUpstream(() => ({ status: 500 }));
      const site = await startExampleSite({ CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/hook` });
      const page = await open(site, guide, { failures: [502] });
      await page.getByRole('button', { name: 'No' }).click();
      await page.getByText('Your vote was counted, but our editors could not be notified.').waitFor();
      expect(await page.getByRole('button', { name: 'No' }).isEnabled()).toBe(true);
    });
  });

  describe('the domain search', () => {
    test('shows the price of an available domain, marks a taken domain, and can be linked', async () => {
      const site = await startExampleSite();
      site.registry.taken.add('quiet-harbour.com');
      const page = await open(site, '/');
      await page.getByLabel('Find your domain').fill('Quiet-Harbour');
      await page.getByRole('button', { name: 'Search' }).click();
      await page.waitForURL(`${site.url}/domains?domain=Quiet-Harbour`);
      const rows = (): Promise<string[]> => page.locator('.results li').allInnerTexts();
      await expect
        .poll(async () => (await rows()).map((row) => row.replaceAll(/\s+/g, ' ').trim()))
        .toEqual([
          'quiet-harbour.com is taken. Is it yours? A transfer to us costs €11.49.',
          'quiet-harbour.eu is available. €7.49 for the first year, then €8.49. Order',
          'quiet-harbour.net is available. €13.49 for the first year, then €15.49. Order',
        ]);
      expect(await page.getByRole('link', { name: 'Order quiet-harbour.eu' }).getAttribute('href')).toBe(
        'https://clients.example.com/domain?name=quiet-harbour.eu',
      );
      await page.getByRole('textbox').fill('bücher.eu');
      await page.getByRole('textbox').press('Enter');
      await expect.poll(rows).toEqual([expect.stringContaining('bücher.eu is available.')]);
      await page.goBack();
      await expect.poll(rows).toHaveLength(3);
    });

    test('explains an invalid name, and a registry that does not answer', async () => {
      const site = await startExampleSite();
      site.registry.fail({ status: 500 }, ({ path }) => path.includes('some-name.com'));
      const page = await open(site, '/domains', { failures: [400, 404, 502] });
      const expectResult = async (name: string, text: string): Promise<void> => {
        await page.getByRole('textbox').fill(name);
        await page.getByRole('button', { name: 'Search' }).click();
        await page.locator('.results').getByText(text).waitFor();
      };
      await expectResult('not a name.com', 'not a name.com is not a domain name.');
      await expectResult('example.xyz', 'example.xyz has an ending that we do not sell.');
      await expectResult('some-name.com', 'The registry did not answer for some-name.com.');
      site.registry.fail(undefined);
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('some-name.com is available.').waitFor();
    });

    test('waits after too many searches, and then searches by itself', async () => {
      const site = await startExampleSite({ DOMAIN_RATELIMIT_BURST: '1', DOMAIN_RATELIMIT_RPS: '1' });
      const page = await open(site, '/domains', { failures: [429] });
      const waits = page.getByText(/Too many requests from your network\. Please wait \d+ seconds?\./);
      await expect
        .poll(async () => {
          // Send three searches at once.
          await page.getByRole('textbox').fill('some-name');
          await page.getByRole('button', { name: 'Search' }).click();
          await page.locator('.results .loading').first().waitFor({ state: 'detached' });
          return waits.count();
        })
        .toBeGreaterThan(0);
      await expect.poll(() => page.locator('.results').getByText('is available.').count()).toBe(3);
    });
  });

  test('the status is on its page, and in the widget on every page', async () => {
    const kuma = await createKumaUpstream();
    kuma.monitors.set('Game panel', 0).set('Backup storage', 3);
    const site = await startExampleSite(kuma.settings);
    const page = await open(site, '/status');
    const rows = ['Website', 'Up', 'Hosting API', 'Up', 'Network', 'Up'];
    const lines = async (): Promise<string[]> => (await page.locator('#status').innerText()).split(/\n+/);
    // A component that the page does not name has a row while it is affected.
    const affected = ['Game panel', 'Disrupted', 'Backup storage', 'Under maintenance'];
    expect(await lines()).toEqual(['Some services are disrupted', ...rows, ...affected]);
    for (const each of [page, await open(site, guide)]) {
      await each.addInitScript(openShadowRoots);
      await each.reload();
      await expect.poll(() => each.locator('service-status .box').innerText()).toContain('Game panel');
    }
    // The widget dispatches changes like this.
    await page.evaluate(() => document.dispatchEvent(new CustomEvent('statuschange', { detail: { status: 'up' } })));
    await expect.poll(lines).toEqual(['All services are up', ...rows]);
  });

  test('planned maintenance is on the status page until it has ended', async () => {
    const site = await startExampleSite();
    for (const [now, text] of [
      [
        '2026-11-20T12:00:00Z',
        /^Planned maintenance\s+Switch replacement\s+Dec 8, 2026, 10:00\sPM to Dec 9, 2026, 2:00\sAM/,
      ],
      ['2026-12-09T01:00:00Z', /Switch replacement\s+In progress, until Dec 9, 2026, 2:00\sAM\s+Affects Network$/],
      ['2026-12-09T02:00:00Z', /^$/],
    ] as const) {
      const page = await newPage(browser(), { timezoneId: 'UTC' });
      await page.clock.setFixedTime(now);
      await page.goto(`${site.url}/status`);
      await page.locator('#maintenance[aria-busy=false]').waitFor({ state: 'attached' });
      expect(await page.locator('#maintenance').innerText()).toMatch(text);
    }
  });

  test('a phone has a menu, and the status widget covers no order button', async () => {
    const kuma = await createKumaUpstream();
    kuma.monitors.set('Game panel', 0).set('Backup storage', 3);
    const site = await startExampleSite(kuma.settings);
    const viewport = { width: 360, height: 640 };
    const page = await open(site, '/plans', { viewport });
    const menu = page.getByRole('navigation', { name: 'Site' });
    expect(await menu.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    expect(await menu.getByRole('link').count()).toBe(5);
    await page.keyboard.press('Escape');
    expect(await menu.isVisible()).toBe(false);
    await page.addInitScript(openShadowRoots);
    await page.reload();
    await expect.poll(() => page.locator('service-status .box').innerText()).toContain('Game panel');
    const orders = page.getByRole('link', { name: /^Order/ });
    await orders.last().waitFor();
    for (const order of await orders.all()) {
      await order.evaluate((link) => link.scrollIntoView({ block: 'end', behavior: 'instant' }));
      const isFree = await order.evaluate((link) => {
        const { left, top, width, height } = link.getBoundingClientRect();
        return document.elementFromPoint(left + width / 2, top + height / 2) === link;
      });
      expect(isFree).toBe(true);
    }
    // The head of a table in an article breaks between words only.
    const article = await open(site, '/knowledgebase/vps/backups-and-snapshots', { viewport });
    const heads = await article
      .locator('.markdown-body th')
      .evaluateAll((cells) => cells.map((cell) => [getComputedStyle(cell).overflowWrap, cell.textContent]));
    expect(heads.length).toBeGreaterThan(0);
    expect(heads.filter(([wrap]) => wrap === 'anywhere')).toEqual([]);
  });

  test('the status is unknown while its source does not answer', async () => {
    const kuma = await createKumaUpstream();
    kuma.fail({ status: 500 });
    const page = await open(await startExampleSite(kuma.settings), '/status', { failures: [503] });
    expect(await page.locator('#status').innerText()).toBe('The status of our services is currently unknown.');
  });
});
