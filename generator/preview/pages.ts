import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { ContentArticle, KnowledgeBaseArticle } from '#contract/articles.ts';
import type { Article } from '../articles/article.ts';
import { readIfFile } from '../common/files.ts';
import { html, renderDocument, trusted } from '../markdown/markup.ts';
import type { Markup } from '../markdown/markup.ts';
import type { Online } from '../release/online.ts';
import { compareNames, compareText, plural } from '../source/diagnostics.ts';
import type { Diagnostic } from '../source/diagnostics.ts';
import { readLines } from '../source/load.ts';
import type { SourceSet } from '../source/load.ts';

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
}

type Problems = Readonly<Record<'errors' | 'warnings', readonly Diagnostic[]>>;

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
function renderWhole(title: string, main: Markup, { build, diagnostics, sources }: PreviewState): string {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
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
      ${errors.slice(0, maxErrors).map((error) => html`<li>${renderDiagnostic(error, sources)}</li>`)}
    </ol>
    ${more > 0 && html`<p>${more} more.</p>`}
  </section>`;
  const body = html`<body data-build="${build}">
    <header class="bar"><a href="/preview">All articles</a> <span id="connection" role="status"></span></header>
    <main>${main}</main>
    <div id="problems">${errors.length > 0 && overlay}</div>
  </body>`;
  return renderDocument({ title: `${title} - preview`, head, body });
}

const toItem = (kind: string, text: Markup) => html`<li><span class="mark">${kind}</span> ${text}</li>`;

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
    return toItem(kind, html`${renderLink(article)} ${from} ${renderMarks(article, problemsOf(article))}`);
  });
  const published = articles.filter((article) => article.state === 'published');
  const kept = new Set(published.flatMap(({ path, metadata }) => [path, ...(metadata.fields.aliases ?? [])]));
  for (const [path, { title }] of online)
    if (!kept.has(path)) changes.push(toItem('gone', html`${title} <code>${path}</code>`));
  const problems = state.diagnostics.map((problem) => html`<li>${renderDiagnostic(problem, state.sources)}</li>`);
  const compared = `Compared with what is online: ${current ? 'all changes' : 'changed titles and descriptions'}.`;
  const main = html`<h1>Preview</h1>
    <p>${online.size > 0 ? compared : 'Nothing is online to compare with.'}</p>
    <p>Everyone who can open this folder can read it, drafts included.</p>
    ${renderItems('Changes', changes, 'list')} ${renderItems('Problems', problems, 'list')}
    ${renderItems('All articles', articles.map(renderLinkItem))}`;
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
  return ({ file }) => {
    const found = byFile.get(file.display) ?? [];
    const { error: errors = [], warning: warnings = [] } = Object.groupBy(found, ({ severity }) => severity);
    return { errors, warnings };
  };
}

function renderDiagnostic({ severity, file, line, column, message, hint }: Diagnostic, sources?: SourceSet): Markup {
  const source = readLines(file, sources)[line - 1]?.slice(0, 500).replaceAll('\t', ' ');
  const marker = ' '.repeat(Math.min(column, 500) - 1) + '^';
  return html`<div class="problem ${severity}">
    <p><code class="place">${file}:${line}:${column}</code> ${message}</p>
    ${hint !== undefined && html`<p class="hint">${hint}</p>`}
    ${
      source !== undefined &&
      html`<pre tabindex="0"><span class="number">${line} | </span>${source}
<span class="number">${' '.repeat(String(line).length)} | </span>${marker}</pre>`
    }
  </div>`;
}

function renderMarks({ state, metadata }: Article, { errors, warnings }: Problems): Markup {
  return html`${state === 'draft' && html`<span class="mark draft">draft</span> `}
  ${state === 'scheduled' && html`<span class="mark scheduled">scheduled for ${metadata.due}</span> `}
  ${errors.length > 0 && html`<span class="mark error">${plural(errors.length, 'problem')}</span> `}
  ${warnings.length > 0 && html`<span class="mark warning">${plural(warnings.length, 'warning')}</span> `}`;
}

/** The maximum number of rows on a page; the search finds other articles. */
const maxRows = 200;

const filters = new Map<string, (article: Article, problems: Problems) => boolean>([
  ['drafts', ({ state }) => state === 'draft'],
  ['scheduled', ({ state }) => state === 'scheduled'],
  ['with warnings', (_, { warnings }) => warnings.length > 0],
  ['with problems', (_, { errors }) => errors.length > 0],
]);

/** Renders the list of articles that match a query: `q` (words), `category` (a folder) and `show` (a filter). */
function renderList({ articles, diagnostics, sources }: PreviewState, query: URLSearchParams): Markup {
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
      <label
        >Category
        <select name="category">
          <option value="">all</option>
          ${renderOptions([...new Set(articles.map(folderOf))].toSorted(), folder)}
        </select></label
      >
      <label
        >Show
        <select name="show">
          <option value="">all</option>
          ${renderOptions([...filters.keys()], show)}
        </select></label
      >
      <noscript><button>Search</button></noscript>
    </form>
    <p id="found">
      ${found.length === articles.length ? `${found.length} articles` : `${found.length} of ${articles.length} articles`}
    </p>
    <ul class="list">
      ${found.slice(0, maxRows).map((article) => {
        const date = dateOf(article);
        return html`<li>
          ${renderLink(article)} ${renderMarks(article, problemsOf(article))}
          <small>${folderOf(article)}${date && ` · ${date}`}</small>
        </li>`;
      })}
    </ul>
    ${found.length > maxRows && html`<p>Only the first ${maxRows} articles are shown; use the search to find others.</p>`}
    ${
      others.length > 0 &&
      html`<h2>Warnings of other files</h2>
        ${others.slice(0, maxRows).map((warning) => renderDiagnostic(warning, sources))}`
    }`;
}

const renderOptions = (names: readonly string[], selected: string): Markup[] =>
  names.map((name) => (name === selected ? html`<option selected>${name}</option>` : html`<option>${name}</option>`));

const renderLink = (article: Article): Markup => html`<a href="/preview${article.path}">${titleOf(article)}</a>`;

function renderArticle(article: Article, { articles, diagnostics, directory, sources }: PreviewState): Markup {
  const { path, output, file } = article;
  const problems = groupProblems(diagnostics)(article);
  const text = directory === undefined ? undefined : readIfFile(join(directory, output));
  const answer = text === undefined ? undefined : (JSON.parse(text) as ArticleFields);
  const targets = new Set(article.references.map((reference) => reference.path));
  const others = articles.filter((other) => other !== article).toSorted((a, b) => compareText(a.path, b.path));
  const from = others.filter((other) => other.references.some((reference) => reference.path === path));
  const [, frontMatter = ''] = /^---\r?\n(.*?)\r?\n---/s.exec(readIfFile(file.absolute) ?? '') ?? [];
  return html`<div class="columns">
    <div>
      <p class="path"><code>${path}</code> ${renderMarks(article, problems)}</p>
      ${[...problems.errors, ...problems.warnings].map((problem) => renderDiagnostic(problem, sources))}
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
  /** Returns the preview address of a picture, versioned because browsers cache pictures. */
  const toAddress = (path: string): string => {
    const { mtimeMs } = statSync(join(directory, 'public', path), { throwIfNoEntry: false }) ?? {};
    return mtimeMs === undefined ? path : `/preview${path}?${mtimeMs}`;
  };
  const facts = [category, date, author, readTime].filter((fact) => fact !== undefined);
  const shown = text.replace(linkOrImage, (tag) => toPreview(tag.replace(/(?<= src=")\/media\/[^"?#]+/, toAddress)));
  return html`<h1>${title}</h1>
    <p class="description">${description}</p>
    <p class="facts">${facts.join(' · ')}</p>
    ${cover !== undefined && html`<img class="cover" src="${toAddress(cover)}" alt="" />`}
    <article class="markdown-body">${trusted(shown)}</article>`;
}

const renderLinkItem = (article: Article): Markup => html`<li>${renderLink(article)}</li>`;

function renderItems(title: string, items: readonly Markup[], className = 'links'): Markup | false {
  return (
    items.length > 0 &&
    html`<h2>${title}</h2>
      <ul class="${className}">
        ${items}
      </ul>`
  );
}
