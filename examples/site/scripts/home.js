import { get } from './api.js';
import { renderCards } from './cards.js';
import { find, formatPrice, h, load } from './page.js';

/** @typedef {import('./types.ts').Catalog} Catalog */

void load(
  find('offers'),
  () => get('/v1/plans'),
  /** @param {Catalog} catalog */ ({ services, games }) => {
    const offers = [...Object.entries(services), ...Object.entries(games)].map(([key, { name, soldOut, plans }]) => {
      const prices = plans.filter((plan) => !plan.soldOut).map(({ price }) => price);
      const price = soldOut || prices.length === 0 ? 'Sold out' : `from ${formatPrice(Math.min(...prices))}`;
      return h('li', { class: 'card offer' }, h('h3', {}, h('a', { href: `/plans#${key}` }, name)), h('p', {}, price));
    });
    return [h('ul', { class: 'cards offers' }, ...offers)];
  },
);

void load(
  find('news'),
  () => get('/v1/blog/list'),
  (articles) => [renderCards(articles.slice(0, 3), 'h3')],
);
