import type { Article } from '../articles/article.ts';
import { compareText } from '../source/diagnostics.ts';
import { html } from '../html.ts';
import type { Html } from '../html.ts';
import { renderMarks, renderProblem } from './page.ts';
import { groupProblems, titleOf } from './state.ts';
import type { PreviewState, Problems } from './state.ts';

/** Rows on one page; the search finds the others. */
const maxRows = 200;

/** The articles that a filter of the list shows. */
const filters = new Map<string, (article: Article, problems: Problems) => boolean>([
  ['drafts', ({ state }) => state === 'draft'],
  ['scheduled', ({ state }) => state === 'scheduled'],
  ['with warnings', (_, { warnings }) => warnings.length > 0],
  ['with problems', (_, { errors }) => errors.length > 0],
]);

/** Renders the list of articles that match a query: `q` (words), `category` (a folder) and `show` (a filter). */
export function renderList({ articles, diagnostics }: PreviewState, query: URLSearchParams): Html {
  const problemsOf = groupProblems(diagnostics);
  const words = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const folder = query.get('category') ?? '';
  const show = query.get('show') ?? '';
  const found = articles
    .filter((article) => folder === '' || folderOf(article) === folder)
    .filter((article) => filters.get(show)?.(article, problemsOf(article.file.display)) ?? true)
    .filter((article) => words.every((word) => textOf(article).includes(word)))
    .toSorted((a, b) => compareText(dateOf(b), dateOf(a)) || compareText(titleOf(a), titleOf(b)));
  const files = new Set(articles.map(({ file }) => file.display));
  const others = diagnostics.filter(({ file, severity }) => severity === 'warning' && !files.has(file));
  return html`<h1>Articles</h1>
    <form class="filters" action="/preview" role="search">
      <label>Search <input type="search" name="q" value="${query.get('q') ?? ''}" autocomplete="off" /></label>
      <label
        >Category
        <select name="category">
          ${renderOptions([...new Set(articles.map(folderOf))].toSorted(), folder)}
        </select></label
      >
      <label
        >Show
        <select name="show">
          ${renderOptions([...filters.keys()], show)}
        </select></label
      >
      <noscript><button>Search</button></noscript>
    </form>
    <p id="found">
      ${found.length === articles.length ? `${found.length} articles` : `${found.length} of ${articles.length} articles`}
    </p>
    <ul class="list">
      ${found.slice(0, maxRows).map((article) => renderRow(article, problemsOf(article.file.display)))}
    </ul>
    ${found.length > maxRows && html`<p>The first ${maxRows} are shown; search for the others.</p>`}
    ${
      others.length > 0 &&
      html`<h2>Warnings of other files</h2>
        ${others.slice(0, maxRows).map(renderProblem)}`
    }`;
}

function renderRow(article: Article, problems: Problems): Html {
  const date = dateOf(article);
  return html`<li>
    <a href="/preview${article.path}">${titleOf(article)}</a> ${renderMarks(article, problems)}
    <small>${folderOf(article)}${date && ` · ${date}`}</small>
  </li>`;
}

function renderOptions(names: readonly string[], selected: string): Html[] {
  return [
    html`<option value="">all</option>`,
    ...names.map((name) =>
      name === selected ? html`<option selected>${name}</option>` : html`<option>${name}</option>`,
    ),
  ];
}

function folderOf({ folder: { collection, slug } }: Article): string {
  return `${collection.folder}/${slug}`;
}

function dateOf({ metadata: { item } }: Article): string {
  return 'date' in item ? String(item.date) : '';
}

function textOf(article: Article): string {
  const { item } = article.metadata;
  const description = 'description' in item ? String(item.description) : '';
  return `${titleOf(article)} ${description} ${article.path}`.toLowerCase();
}
