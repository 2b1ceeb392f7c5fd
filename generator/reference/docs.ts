import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { head as description, toInfo } from '#contract/docs.ts';
import type { Presentation } from '#contract/docs.ts';
import { endpoints } from '#contract/endpoints.ts';
import { renderOpenApi } from '#contract/openapi.ts';
import type { OpenApi } from '#contract/openapi.ts';
import { operatorEndpoints } from '#contract/operators.ts';
import { escapeXml, html, renderDocument, trusted } from '../markdown/markup.ts';
import type { Markup } from '../markdown/markup.ts';
import { renderGuide, titles } from './guide.ts';
import type { PagePath } from './guide.ts';
import { addressOf, createReference, renderBar, renderMethod, titleOf } from './operations.ts';

/** The address of `npm start`; the script of each page replaces it with the address of the page. */
const localAddress = 'http://localhost:3000';

type Reference = ReturnType<typeof createReference>;
type Page = ReturnType<typeof toReferencePage>;

/** The parts that the pages share. */
interface Site {
  readonly info: ReturnType<typeof toInfo>;
  readonly groups: Readonly<Record<string, readonly Pick<Page, 'path' | 'title'>[]>>;
  readonly pages: readonly Page[];
  /** Attributes of the body, for the script. */
  readonly attributes: Markup;
}

const read = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');

/** Names a script or style sheet with a version. */
function toAsset(name: string, extension: string, text: string) {
  return { name: `${name}-${hash('sha256', text).slice(0, 16)}.${extension}`, text };
}

/** Bundles a script of the pages; the search contains its entries and the licence of its library. */
async function bundle(name: string, entries?: readonly unknown[]) {
  const licence = readFileSync(new URL('../../LICENSE.txt', import.meta.resolve('minisearch')), 'utf8');
  const { outputFiles } = await build({
    absWorkingDir: join(import.meta.dirname, 'browser'),
    entryPoints: [`${name}.ts`],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    ...(entries && {
      define: { ENTRIES: JSON.stringify(JSON.stringify(entries)) },
      banner: { js: `/*! ${licence}*/` },
    }),
    // Ignore tsconfig.json files, which could change the bytes.
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  return toAsset(name, 'js', outputFiles[0]!.text);
}

const dialogs = read('dialogs.html');
const style = toAsset('docs', 'css', read('docs.css') + read('../../examples/clients/browser/console.css'));
const [script, consoleScript] = await Promise.all([bundle('main'), bundle('console')]);

let last: { readonly input: string; readonly files: ReturnType<typeof renderSite> } | undefined;

/** Renders all pages of /docs from the OpenAPI document of the release, once for equal documents. */
export function renderDocs(input: string): ReturnType<typeof renderSite> {
  if (last?.input !== input) last = { input, files: renderSite(JSON.parse(input) as OpenApi) };
  return last.files;
}

const isPublic = ({ operations }: Page): boolean => operations.every(({ endpoint: { access } }) => !access);

async function renderSite(document: OpenApi) {
  const { info, servers } = document;
  const service = servers.length > 1 ? servers[0]!.url : undefined;
  const origin = service ?? localAddress;
  const { tags, render } = createReference(document, endpoints, origin);
  const guide = (Object.keys(titles) as PagePath[]).map((path) =>
    toGuidePage(path, renderGuide(path, origin), info.title),
  );
  const reference = tags.map((tag) => toReferencePage(addressOf(tag.name), tag, render));
  const groups = {
    Guide: guide,
    Servers: reference.filter((page) => !isPublic(page)),
    Public: [...reference.filter(isPublic), { path: '/v1/openapi.json', title: 'OpenAPI document' }],
  };
  const pages = [...guide, ...reference];
  const search = await bundle(
    'search',
    pages.flatMap(({ sections }) => sections),
  );
  const attributes = html`data-search="/docs/${search.name}" ${service !== undefined && html`data-origin="${service}"`}`;
  const site = { info, groups, pages, attributes };
  const [first = '', ...texts] = pages.map((page) => renderPage(page, site));
  const files = texts.map((text, at) => ({ name: pages[at + 1]!.path.replace('/docs/', ''), text }));
  const others = [...files, script, consoleScript, search, style].map(({ name, text }) => [name, text] as const);
  return { first, others: Object.fromEntries(others) };
}

/** Renders the page of the operators' port, with the script and style of /docs. */
export function renderOperatorDocs(host: Presentation): string {
  const document = renderOpenApi({ parameters: {}, bodies: {} }, {}, false);
  const { tags, render } = createReference(document, operatorEndpoints, localAddress);
  const pages = tags.map((tag) => toReferencePage('/docs', tag, render));
  return renderPage(pages[0]!, {
    info: toInfo(host),
    groups: { Reference: pages },
    pages,
    attributes: html`data-key="ho"`,
  });
}

const example = /(?:<pre data-title="[^"]*".*?<\/pre>\s*){4}|<pre.*?<\/pre>/gs;
/** A name in a cell of a table, which may break behind its underscores. */
const nameInCell = /(?<=<td><code>)\w+(?=<\/code>)/g;
/** A short name or option with hyphens, which does not break behind them unless it begins a cell of a table. */
const hyphenated = /(?<=<code>[^<]* |(?<!<td>)<code>)(?=[^ <]*-)[\w:.-]{2,32}(?=[ <])/g;
const toWords = (part: string): string => part.replaceAll(/(?:<[^>]*>|&#?\w+;|\s)+/g, ' ').trim();

/** Adds bars to the examples of a page of the guide, and lists its sections. */
function toGuidePage(path: PagePath, rendered: string, siteTitle: string): Page {
  const title = titles[path];
  const withBars = rendered.replaceAll(example, (block) => {
    const names = Array.from(block.matchAll(/data-title="(.*?)"/g), ([, name]) => name!);
    const [, language = 'Example'] = /language-(\w+)/.exec(block) ?? [];
    return `<div class="card">${renderBar(names.length > 0 ? names : [language]).markup}${block}</div>`;
  });
  const sections = rendered.split(/(?=<h[23] id=")/).map((part) => {
    const [heading = '', level = '', id, name] = /^<h([23]) id="([^"]*)".*?>(.*?)<\/h\1>/s.exec(part) ?? [];
    const text = toWords(part.slice(heading.length).replaceAll(/<pre.*?<\/pre>/gs, ''));
    if (id === undefined || name === undefined) return { id: path, level, title, place: 'Guide', text };
    return { id: `${path}#${id}`, level, title: toWords(name), place: title, text };
  });
  const text = withBars
    .replaceAll(nameInCell, (name) => name.replaceAll('_', '_<wbr>'))
    .replaceAll(hyphenated, '<span>$&</span>');
  const main = html`${path === '/docs' && html`<h1>${siteTitle}</h1>`}
    <div class="markdown-body">${trusted(text)}</div>`;
  return { path, title, main, sections, operations: [] };
}

/** Renders the operations of a tag; the search finds each. */
function toReferencePage(path: string, tag: Reference['tags'][number], render: Reference['render']) {
  const { name, lead, operations } = tag;
  const sections = operations.map((operation) => {
    const { operationId, method, path: of, description: text } = operation;
    const place = `${method} ${of}`;
    return { id: `${path}#${operationId}`, level: '', title: titleOf(operation), place, text };
  });
  const main = html`<h1>${name}</h1>
    <p class="lead">${lead}</p>
    ${operations.map(render)}`;
  return { path, title: name, main, sections, operations };
}

const renderList = (links: readonly Markup[]): Markup =>
  html`<ul>
    ${links.map((link) => html`<li>${link}</li>`)}
  </ul>`;

/** Renders a page. Links start with a slash because the first page is at /docs and at /docs/. */
function renderPage(page: Page, { info, groups, pages, attributes }: Site): string {
  const { path, title, main, operations } = page;
  const isGuide = operations.length === 0;
  const [initial = ''] = info.title;
  const icon = `data:image/svg+xml,${encodeURIComponent(read('mark.svg').replace('>A<', `>${escapeXml(initial)}<`))}`;
  const at = pages.indexOf(page);
  const renderNeighbour = (to: Page | undefined, label: string): Markup | undefined =>
    to && html`<a class="${label}" href="${to.path}"><span>${label}</span> ${to.title}</a>`;
  const unfolded = operations.map((operation) => {
    const text = html`${renderMethod(operation.method)} <span>${titleOf(operation, /[;,(:]/)}</span>`;
    return html`<a href="#${operation.operationId}">${text}</a>`;
  });
  const renderLink = (to: Pick<Page, 'path' | 'title'>): Markup =>
    to.path === path
      ? html`<a href="${to.path}" aria-current="page">${to.title}</a>${unfolded.length > 0 && renderList(unfolded)}`
      : html`<a href="${to.path}">${to.title}</a>`;
  const menu = Object.entries(groups).map(
    ([name, links]) =>
      html`<p>${name}</p>
        ${renderList(links.map(renderLink))}`,
  );
  const headings = page.sections.filter(({ level }) => level !== '');
  const within = headings.map((to) => html`<a class="level-${to.level}" href="${to.id}">${to.title}</a>`);
  const isOperators = groups['Guide'] === undefined;
  const toTokens = (text: string): string => (isOperators ? text.replaceAll(/(?:API )?key\b(?!-)/g, 'token') : text);
  const body = html`<body ${attributes}>
    <a class="skip" href="#main">Skip to the content</a>
    <header>
      <button class="menu" popovertarget="menu">Menu</button>
      <a class="name" href="/docs" tabindex="-1"><img src="${icon}" alt="" /> <span>${info.title}</span></a>
      ${!isOperators && html`<button id="search">Search <kbd>Ctrl K</kbd></button>`}
      <button id="key">${toTokens('Use your key')}</button>
    </header>
    <nav id="menu" popover aria-label="Documentation">${menu}</nav>
    <main id="main" class="${isGuide ? 'guide' : 'reference'}">
      ${main}
      <p class="pages">${renderNeighbour(pages[at - 1], 'Previous')} ${renderNeighbour(pages[at + 1], 'Next')}</p>
      <footer>
        ${info.contact && html`<a href="${info.contact.url}">${info.contact.name}</a> ·`}
        <a href="/v1/openapi.json">OpenAPI document</a> (OpenAPI ${description.openapi}, API version ${info.version})
      </footer>
    </main>
    ${
      within.length > 1 &&
      html`<nav class="toc" aria-label="On this page">
        <p>On this page</p>
        ${renderList(within)}
      </nav>`
    }
    ${trusted(toTokens(dialogs))}
  </body>`;
  const head = html`${isGuide && html`<link rel="stylesheet" href="/v1/article.css" />`}
    <link rel="stylesheet" href="/docs/${style.name}" />
    ${path === '/docs/streams.html' && html`<script type="module" src="/docs/${consoleScript.name}"></script>`}
    <script type="module" src="/docs/${script.name}"></script>`;
  return renderDocument({ title: path === '/docs' ? info.title : `${title} - ${info.title}`, head, body, icon });
}
