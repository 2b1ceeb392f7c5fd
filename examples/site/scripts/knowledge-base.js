import { get } from './api.js';
import { chosenCategory, renderCategories } from './categories.js';
import { categoryOf, find, h, load } from './page.js';
import { search } from './search.js';

/** @typedef {import('./types.ts').GuideList} Guides */
/** @typedef {import('./types.ts').Category} Category */

const form = /** @type {HTMLFormElement} */ (document.querySelector('form.search'));
const field = /** @type {HTMLInputElement} */ (form.elements.namedItem('q'));
const count = find('count');
const found = find('found');
const guides = find('guides');

// Preload the index when a search is likely.
field.addEventListener('focus', () => void search('').catch(() => undefined), { once: true });
field.addEventListener('input', showResults);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  showResults();
});
field.value = new URLSearchParams(location.search).get('q') ?? '';
if (field.value) showResults();

void load(
  guides,
  () =>
    Promise.all([
      get('/v1/kb/categories'),
      get(`/v1/kb/list${chosenCategory === null ? '' : `?${new URLSearchParams({ category: chosenCategory })}`}`),
    ]),
  /** @param {[Category[], Guides]} lists */ ([categories, list]) => [
    renderCategories(categories),
    list.length > 0
      ? h(
          'div',
          { class: 'guides' },
          ...categories.map((category) => renderCategory(category, list)).filter((section) => section !== ''),
        )
      : h('p', {}, 'There are no guides yet.'),
  ],
);

/** Shows the search results instead of all guides, and keeps the query in the URL. */
function showResults() {
  const query = field.value.trim();
  history.replaceState(null, '', query ? `?${new URLSearchParams({ q: query })}` : location.pathname);
  guides.hidden = query !== '';
  count.textContent = '';
  void load(
    found,
    () => search(query),
    (results) => renderResults(query, results),
  );
}

/**
 * @param {string} query
 * @param {import('./search.js').Result[]} results
 */
function renderResults(query, results) {
  if (query === '') return [];
  // Screen readers announce only this line, not all results.
  count.textContent =
    results.length === 1 ? `1 guide for “${query}”` : `${results.length || 'No'} guides for “${query}”`;
  const items = results.map(({ path, title, description, category }) =>
    h(
      'li',
      {},
      h('p', { class: 'facts' }, category),
      h('h2', {}, h('a', { href: path }, title)),
      h('p', {}, description),
    ),
  );
  return [h('ol', { class: 'results' }, ...items)];
}

/**
 * @param {Category} category
 * @param {Guides} list
 */
function renderCategory({ slug, name }, list) {
  const own = list.filter((guide) => categoryOf(guide) === slug);
  if (own.length === 0) return '';
  return h(
    'section',
    { class: 'card', 'aria-labelledby': slug },
    h('h2', { id: slug }, name),
    h('ul', {}, ...own.map(({ title, path }) => h('li', {}, h('a', { href: path }, title)))),
  );
}
