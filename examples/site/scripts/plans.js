import { get } from './api.js';
import { find, formatPrice, h, load, scrollToAnchor } from './page.js';

/** @typedef {import('./types.ts').Catalog} Catalog */
/** @typedef {Catalog['services'][string]} Group */

await load(
  find('plans'),
  () => get('/v1/plans'),
  /** @param {Catalog} catalog */ ({ services, games }) => [
    ...Object.entries(services).map(renderGroup),
    ...Object.entries(games).map(renderGroup),
  ],
);
scrollToAnchor();

/** @param {[key: string, group: Group]} entry */
function renderGroup([key, { name, soldOut, soldOutMessage, plans }]) {
  return h(
    'section',
    { 'aria-labelledby': key },
    h('h2', { id: key }, name),
    ...(soldOut ? [h('p', { class: 'note' }, soldOutMessage || 'Currently sold out.')] : []),
    h('ul', { class: 'cards plans' }, ...plans.map((plan) => renderPlan(plan, soldOut))),
  );
}

/**
 * @param {Group['plans'][number]} plan
 * @param {boolean} isGroupSoldOut
 */
function renderPlan({ name, ram, storage, price, orderLink, soldOut }, isGroupSoldOut) {
  const order = h('a', { class: 'button', href: orderLink, 'aria-label': `Order ${name}` }, 'Order');
  return h(
    'li',
    { class: 'card' },
    h('h3', {}, name),
    h('p', { class: 'price' }, h('strong', {}, formatPrice(price)), '/month'),
    h('p', {}, `${ram} GB memory`),
    h('p', {}, `${storage} GB storage`),
    soldOut || isGroupSoldOut ? h('p', { class: 'sold-out' }, 'Sold out') : order,
  );
}
