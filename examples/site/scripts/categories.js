import { h } from './page.js';

/** @typedef {import('./types.ts').Category} Category */

/** The category in the page's URL, or null for all. */
export const chosenCategory = new URLSearchParams(location.search).get('category');

/**
 * Links to the categories of a list.
 *
 * @param {Category[]} categories
 */
export function renderCategories(categories) {
  const all = { slug: '', name: 'All', count: categories.reduce((sum, { count }) => sum + count, 0) };
  const links = [all, ...categories].map(({ slug, name, count }) =>
    h(
      'a',
      {
        href: slug ? `?${new URLSearchParams({ category: slug })}` : location.pathname,
        'aria-current': slug === (chosenCategory ?? '') ? 'page' : undefined,
      },
      `${name} (${count})`,
    ),
  );
  return h('nav', { class: 'categories', 'aria-label': 'Categories' }, ...links);
}
