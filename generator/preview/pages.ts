import { statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ContentArticle, KnowledgeBaseArticle } from '#contract/articles.ts';
import type { Article } from '../articles/article.ts';
import { readIfFile } from '../common/files.ts';
import { html, renderDocument, trusted } from '../markdown/markup.ts';
import type { Markup } from '../markdown/markup.ts';
import type { Online } from '../release/online.ts';
import { compareNames, compareText, plural } from '../source/diagnostics.ts';
import type { Diagnostic } from '../source/diagnostics.ts';
import { findSource, readLines } from '../source/load.ts';
import type { SourceFile, SourceSet } from '../source/load.ts';

/** The state of the preview: articles and problems of the last build. */
export interface PreviewState {
  /** The number of the build; increases with each build. */
  readonly build: number;
  readonly articles: readonly Article[];
  readonly diagnostics: readonly Diagnostic[];
  /** The sources of the last build; undefined before the first. */
  readonly sources?: SourceSet | undefined;
  /** The folder of the last successful build; undefined before the first. */
  readonly directory: string | undefined;
  /** The editor that links open; undefined in a folder, which other machines show. */
  readonly editor?: { readonly name: string; readonly url: string } | undefined;
}

type Problems = Partial<Record<Diagnostic['severity'], readonly Diagnostic[]>>;

/** The fields of both kinds of articles; invalid front matter leaves only the path. */
type ArticleFields = KnowledgeBaseArticle & Partial<ContentArticle>;

const itemOf = ({ metadata }: Article) => metadata.item as Partial<ArticleFields>;
const titleOf = (article: Article): string => itemOf(article).title ?? article.path;
const dateOf = (article: Article): string => itemOf(article).date ?? '';
const textOf = (article: Article): string =>
  `${titleOf(article)} ${itemOf(article).description ?? ''} ${article.path}`.toLowerCase();
const folderOf = ({ folder: { collection, slug } }: Article): string => `${collection.folder}/${slug}`;

/** Renders the page at a path below /preview; `status` is 404 if not found. */
export function renderPreview(state: PreviewState, address: string, query: URLSearchParams) {
  const path = address.replace(/\/$/, '');
  if (path === '') return { status: 200, body: renderWhole('Articles', renderList(state, query), state) };
  const article = state.articles.find((other) => other.path === path);
  if (article) return { status: 200, body: renderWhole(titleOf(article), renderArticle(article, state), state) };
  const main = html`<h1>Not found</h1>
    <p>There is no article <code>${path}</code>.</p>`;
  return { status: 404, body: renderWhole('Not found', main, state) };
}

/** The maximum number of errors in the overlay; fixing one often fixes others. */
const maxErrors = 20;

/** Renders a whole page; an open page replaces `main` and the problems after each build. */
function renderWhole(title: string, main: Markup, state: PreviewState): string {
  const errors = state.diagnostics.filter(({ severity }) => severity === 'error');
  const more = errors.length - maxErrors;
  const head = html`<meta name="robots" content="noindex" />
    <link rel="stylesheet" href="/v1/article.css" />
    <link rel="stylesheet" href="/preview/preview.css" />
    <script src="/preview/preview.js" defer></script>`;
  const overlay = html`<section class="overlay" role="region" aria-labelledby="overlay-title" tabindex="0">
    <h2 id="overlay-title">${plural(errors.length, 'problem')}</h2>
    <p>The preview shows the last version without problems.</p>
    <button type="button" class="hide">Hide (Esc)</button>
    <ol>
      ${errors.slice(0, maxErrors).map((error) => html`<li>${renderDiagnostic(error, state)}</li>`)}
    </ol>
    ${more > 0 && html`<p>${more} more.</p>`}
  </section>`;
  const body = html`<body data-build="${state.build}">
    <header class="bar">
      <a href="/preview">All articles</a> <label><input type="checkbox" id="phone" /> Phone width</label>
      <span id="connection" role="status"></span>
    </header>
    <main>${main}</main>
    <div id="problems">${errors.length > 0 && overlay}</div>
  </body>`;
  return renderDocument({ title: `${title} - preview`, head, body });
}

/** Renders the pages of a folder, by file name. Compares titles and descriptions, or the files in `current`. */
export function renderFolder(state: PreviewState, online: Online['articles'] = new Map(), current?: string) {
  const articles = state.articles.toSorted((a, b) => compareText(a.path, b.path));
  const problemsOf = groupProblems(state.diagnostics);
  const changes = articles.flatMap((article) => {
    const { path, output, metadata } = article;
    const before = online.get(path);
    const isSame = current
      ? readIfFile(join(current, output)) === readIfFile(join(state.directory!, output))
      : before?.title === titleOf(article) && before.description === itemOf(article).description;
    if (before && isSame) return [];
    const former = metadata.fields.aliases?.find((alias) => online.has(alias));
    const kind = before ? 'changed' : former === undefined ? 'new' : 'moved';
    const from = kind === 'moved' && html`from <code>${former}</code>`;
    return renderRow(article, problemsOf(article), state, html`<span class="mark">${kind}</span> `, from);
  });
  const published = articles.filter((article) => article.state === 'published');
  const kept = new Set(published.flatMap(({ path, metadata }) => [path, ...(metadata.fields.aliases ?? [])]));
  for (const [path, { title }] of online)
    if (!kept.has(path)) changes.push(html`<li><span class="mark">gone</span> ${title} <code>${path}</code></li>`);
  const rows = articles.map((article) => renderRow(article, problemsOf(article), state));
  const problems = state.diagnostics.map((problem) => html`<li>${renderDiagnostic(problem, state)}</li>`);
  const compared = `Compared with what is online: ${current ? 'all changes' : 'changed titles and descriptions'}.`;
  const main = html`<h1>Preview</h1>
    <p>${online.size > 0 ? compared : 'Nothing is online to compare with.'}</p>
    <p>Everyone who can open this folder can read it, drafts included.</p>
    ${renderItems('Changes', changes, 'list')} ${renderItems('Problems', problems, 'list')}
    ${renderItems('All articles', rows, 'list')}`;
  const toPage = (article: Article) => toFile(titleOf(article), renderArticle(article, state), '../../');
  const pages = articles.map((article) => [`${article.path.slice(1)}.html`, toPage(article)] as const);
  return [['index.html', toFile('Changes', main, '')] as const, ...pages];
}

const tags = /<(?:a|img|source|video|audio|link)(?:\s+[^\s"=>]+(?:="[^"]*")?)*/g;
const local =
  /(?<=["\s,])(?:\/preview|\/v1)?\/(?:((?:blog|knowledgebase)(?:\/[^"\s/?#]+){2})|(media\/[^"\s,?#]+|[a-z]+\.css))(?:\?[\d.]+)?/g;

/** Renders a page that works without a server: its addresses are relative. */
function toFile(title: string, main: Markup, up: string): string {
  const toRelative = (_: string, article?: string, file?: string): string => up + (file ?? `${article}.html`);
  return renderWhole(title, main, { build: 0, articles: [], diagnostics: [], directory: undefined })
    .replace(/<script.*?<\/script>/s, '')
    .replace('href="/preview"', `href="${up}index.html"`)
    .replace(tags, (tag) => tag.replace(local, toRelative));
}

function groupProblems(diagnostics: readonly Diagnostic[]): (article: Article) => Problems {
  const byFile = Map.groupBy(diagnostics, ({ file }) => file);
  return ({ file }) => Object.groupBy(byFile.get(file.display) ?? [], ({ severity }) => severity);
}

/** Links a text to a position in a file, if the editor is known. */
const linkFile = (text: Markup, { editor }: PreviewState, file: SourceFile | undefined, line = 1, column = 1): Markup =>
  editor && file
    ? html`<a href="${editor.url}${pathToFileURL(file.absolute).pathname}:${line}:${column}">${text}</a>`
    : text;

function renderDiagnostic({ severity, file, line, column, message, hint }: Diagnostic, state: PreviewState): Markup {
  const place = html`<code class="place">${file}:${line}:${column}</code>`;
  const source = readLines(file, state.sources)[line - 1]?.slice(0, 500).replaceAll('\t', ' ');
  const marker = ' '.repeat(Math.min(column, 500) - 1) + '^';
  return html`<div class="problem ${severity}">
    <p>${linkFile(place, state, findSource(file, state.sources), line, column)} ${message}</p>
    ${hint !== undefined && html`<p class="hint">${hint}</p>`}
    ${
      source !== undefined &&
      html`<pre tabindex="0"><span class="number">${line} | </span>${source}
<span class="number">${' '.repeat(String(line).length)} | </span>${marker}</pre>`
    }
  </div>`;
}

function renderMarks({ state, metadata }: Article, { error, warning }: Problems): Markup {
  return html`${state === 'draft' && html`<span class="mark draft">draft</span> `}
  ${state === 'scheduled' && html`<span class="mark scheduled">scheduled for ${metadata.due}</span> `}
  ${error && html`<span class="mark error">${plural(error.length, 'problem')}</span> `}
  ${warning && html`<span class="mark warning">${plural(warning.length, 'warning')}</span> `}`;
}

/** The maximum number of rows on a page; the search finds other articles. */
const maxRows = 200;

const filters = new Map<string, (article: Article, problems: Problems) => boolean>([
  ['drafts', ({ state }) => state === 'draft'],
  ['scheduled', ({ state }) => state === 'scheduled'],
  ['with warnings', (_, { warning }) => warning !== undefined],
  ['with problems', (_, { error }) => error !== undefined],
]);

/** Renders the list of articles that match a query: `q` (words), `category` (a folder) and `show` (a filter). */
function renderList(state: PreviewState, query: URLSearchParams): Markup {
  const { articles, diagnostics } = state;
  const problemsOf = groupProblems(diagnostics);
  const words = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const folder = query.get('category') ?? '';
  const show = query.get('show') ?? '';
  const found = articles
    .filter((article) => folder === '' || folderOf(article) === folder)
    .filter((article) => filters.get(show)?.(article, problemsOf(article)) ?? true)
    .filter((article) => words.every((word) => textOf(article).includes(word)))
    .toSorted((a, b) => compareText(dateOf(b), dateOf(a)) || compareNames(titleOf(a), titleOf(b)));
  const files = new Set(articles.map(({ file }) => file.display));
  const others = diagnostics.filter(({ file, severity }) => severity === 'warning' && !files.has(file));
  return html`<h1>Articles</h1>
    <form class="filters" action="/preview" role="search">
      <label>Search <input type="search" name="q" value="${query.get('q') ?? ''}" autocomplete="off" /></label>
      ${renderSelect('Category', 'category', [...new Set(articles.map(folderOf))].toSorted(), folder)}
      ${renderSelect('Show', 'show', [...filters.keys()], show)}
      <noscript><button>Search</button></noscript>
    </form>
    <p id="found">
      ${found.length === articles.length ? `${found.length} articles` : `${found.length} of ${articles.length} articles`}
    </p>
    <ul class="list">
      ${found.slice(0, maxRows).map((article) => renderRow(article, problemsOf(article), state))}
    </ul>
    ${found.length > maxRows && html`<p>Only the first ${maxRows} articles are shown; use the search to find others.</p>`}
    ${
      others.length > 0 &&
      html`<h2>Warnings of other files</h2>
        ${others.slice(0, maxRows).map((warning) => renderDiagnostic(warning, state))}`
    }`;
}

const renderSelect = (label: string, name: string, options: readonly string[], selected: string): Markup =>
  html`<label>
    ${label}
    <select name="${name}">
      <option value="">all</option>
      ${options.map((option) => html`<option ${option === selected && 'selected'}>${option}</option>`)}
    </select>
  </label>`;

const renderLink = (article: Article): Markup => html`<a href="/preview${article.path}">${titleOf(article)}</a>`;

/** Renders a row of a list: the cover, a note, the title, another note, marks, folder and date. */
function renderRow(article: Article, problems: Problems, state: PreviewState, before?: Markup, after?: Markup | false) {
  const cover = addressOf(itemOf(article).cover, state.directory);
  return html`<li>
    ${cover !== undefined && html`<img src="${cover}" alt="" width="120" height="63" loading="lazy" />`}
    ${before}${renderLink(article)} ${after} ${renderMarks(article, problems)}
    <small>${[folderOf(article), itemOf(article).date].filter(Boolean).join(' · ')}</small>
  </li>`;
}

/** Returns the preview address of a picture, versioned because browsers cache pictures; undefined if it is missing. */
function addressOf(path: string | undefined, directory = ''): string | undefined {
  const { mtimeMs } = (path && statSync(join(directory, 'public', path), { throwIfNoEntry: false })) || {};
  return mtimeMs === undefined ? undefined : `/preview${path}?${mtimeMs}`;
}

function renderArticle(article: Article, state: PreviewState): Markup {
  const { articles, diagnostics, directory, editor } = state;
  const { path, output, file } = article;
  const problems = groupProblems(diagnostics)(article);
  const link = editor && linkFile(html`Open in ${editor.name}`, state, file);
  const text = directory === undefined ? undefined : readIfFile(join(directory, output));
  const answer = text === undefined ? undefined : (JSON.parse(text) as ArticleFields);
  const targets = new Set(article.references.map((reference) => reference.path));
  const others = articles.filter((other) => other !== article).toSorted((a, b) => compareText(a.path, b.path));
  const from = others.filter((other) => other.references.some((reference) => reference.path === path));
  const [, frontMatter = ''] = /^---\r?\n(.*?)\r?\n---/s.exec(readIfFile(file.absolute) ?? '') ?? [];
  return html`<div class="columns">
    <div>
      <p class="path"><code>${path}</code> ${renderMarks(article, problems)} ${link}</p>
      ${[problems.error ?? [], problems.warning ?? []].flat().map((problem) => renderDiagnostic(problem, state))}
      ${
        answer
          ? renderAnswer(answer, directory!)
          : html`<h1>${titleOf(article)}</h1>
              <p>The text appears when the problems are solved.</p>`
      }
    </div>
    <aside>
      ${renderItems('Links to', others.filter((other) => targets.has(other.path)).map(renderLinkItem))}
      ${renderItems('Linked from', from.map(renderLinkItem))}
      <h2>Front matter</h2>
      <pre tabindex="0">${frontMatter}</pre>
    </aside>
  </div>`;
}

/** Links between articles point to the website. */
const toPreview = (tag: string): string => tag.replace(/(?<= href=")(?=\/(?:blog|knowledgebase)\/)/, '/preview');

const linkOrImage = /<(?:a|img)(?:\s+[^\s"=>]+(?:="[^"]*")?)*/g;

function renderAnswer(
  { title, description, category, date, author, readTime, cover, html: text }: ArticleFields,
  directory: string,
): Markup {
  const toAddress = (path: string): string => addressOf(path, directory) ?? path;
  const facts = [category, date, author, readTime].filter((fact) => fact !== undefined);
  const shown = text.replace(linkOrImage, (tag) => toPreview(tag.replace(/(?<= src=")\/media\/[^"?#]+/, toAddress)));
  return html`<div class="page">
    <h1>${title}</h1>
    <p class="description">${description}</p>
    <p class="facts">${facts.join(' · ')}</p>
    ${cover !== undefined && html`<img class="cover" src="${toAddress(cover)}" alt="" width="1200" height="630" />`}
    <article class="markdown-body">${trusted(shown)}</article>
  </div>`;
}

const renderLinkItem = (article: Article): Markup => html`<li>${renderLink(article)}</li>`;

const renderItems = (title: string, items: readonly Markup[], className = 'links'): Markup | false =>
  items.length > 0 &&
  html`<h2>${title}</h2>
    <ul class="${className}">
      ${items}
    </ul>`;
