import { get } from './api.js';
import { renderCards } from './cards.js';
import { chosenCategory, renderCategories } from './categories.js';
import { categoryOf, find, h, load } from './page.js';

/** @typedef {import('./types.ts').BlogItem} BlogItem */
/** @typedef {import('./types.ts').Category} Category */

void load(
  find('articles'),
  () => Promise.all([get('/v1/blog/categories'), get('/v1/blog/list')]),
  /** @param {[Category[], BlogItem[]]} lists */ ([categories, list]) => {
    const articles = list.filter((article) => chosenCategory === null || categoryOf(article) === chosenCategory);
    return [
      renderCategories(categories),
      articles.length > 0 ? renderCards(articles, 'h2') : h('p', {}, 'There are no articles yet.'),
    ];
  },
);
