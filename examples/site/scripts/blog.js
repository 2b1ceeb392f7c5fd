import { get } from './api.js';
import { renderCards } from './cards.js';
import { find, h, load } from './page.js';

void load(
  find('articles'),
  () => get('/v1/blog/list'),
  (articles) => [articles.length > 0 ? renderCards(articles, 'h2') : h('p', {}, 'There are no articles yet.')],
);
