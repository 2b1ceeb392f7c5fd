import { get } from './api.js';
import { categoryOf, formatDate, h, load } from './page.js';

/** @typedef {import('./types.ts').ArticleIndex} ArticleIndex */
/** @typedef {{ path: string; title: string }[]} List */

/**
 * Shows an article's tags, its neighbours in the category, and related articles.
 *
 * @param {{ path: string }} article
 * @param {{ api: string; previous: string; next: string }} list
 */
export function renderNeighbours(article, { api, previous, next }) {
  const element = h('footer', { class: 'neighbours' });
  void load(
    element,
    () =>
      Promise.all([get(`${api}/index?${new URLSearchParams({ category: categoryOf(article) })}`), get(`${api}/list`)]),
    /** @param {[ArticleIndex, List]} files */ ([index, all]) => {
      const entry = index.find(({ path }) => path === article.path);
      if (!entry) return [];
      const titles = new Map(all.map(({ path, title }) => [path, title]));
      /** @param {string} path */
      const link = (path) => h('a', { href: path }, titles.get(path) ?? path);
      return [
        ...(entry.updated ? [h('p', { class: 'facts' }, `Updated ${formatDate(entry.updated)}`)] : []),
        ...(entry.tags.length > 0
          ? [h('ul', { class: 'tags', 'aria-label': 'Tags' }, ...entry.tags.map((tag) => h('li', {}, tag)))]
          : []),
        ...(entry.related.length > 0
          ? [h('h2', {}, 'Related'), h('ul', {}, ...entry.related.map((path) => h('li', {}, link(path))))]
          : []),
        h(
          'nav',
          { class: 'neighbour-links', 'aria-label': 'Neighbours' },
          ...(entry.previous ? [h('p', {}, h('span', {}, previous), link(entry.previous))] : []),
          ...(entry.next ? [h('p', {}, h('span', {}, next), link(entry.next))] : []),
        ),
      ];
    },
  );
  return element;
}
