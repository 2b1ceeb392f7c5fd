import { get } from './api.js';
import { find, formatPrice, h, load, renderTable } from './page.js';

/** @typedef {import('./types.ts').Catalog} Catalog */
/** @typedef {Catalog['services'][string]} Group */
/** @typedef {Group['plans'][number]} Plan */

const element = find('plans');
/** The names of recommended plans, which the page lists. */
const highlighted = (element.dataset.highlight ?? '').split(',').map((name) => name.trim());

void load(
  element,
  () => get('/v1/plans'),
  /** @param {Catalog} catalog */ ({ services, games }) => {
    const groups = [...Object.entries(services), ...Object.entries(games)];
    const box = h('div');
    // The address has the product, so links and the back button work.
    const show = () => {
      const chosen = groups.find(([key]) => key === location.hash.slice(1)) ?? groups[0];
      box.replaceChildren(...(chosen ? renderGroups(groups, chosen) : [h('p', {}, 'There are no plans yet.')]));
    };
    addEventListener('hashchange', show);
    show();
    return [box];
  },
);

/**
 * Links to all products, and compares the plans of the chosen one.
 *
 * @param {[key: string, group: Group][]} groups
 * @param {[key: string, group: Group]} chosen
 */
function renderGroups(groups, [chosenKey, { name, soldOut, soldOutMessage, plans }]) {
  const links = groups.map(([key, group]) =>
    h('a', { href: `#${key}`, 'aria-current': key === chosenKey ? 'true' : undefined }, group.name),
  );
  return [
    h('nav', { class: 'categories', 'aria-label': 'Products' }, ...links),
    h('h2', {}, name),
    ...(soldOut ? [h('p', { class: 'note' }, soldOutMessage || 'Currently sold out.')] : []),
    renderTable(
      ['Plan', 'Memory', 'Storage', 'Per month'],
      plans.map((plan) => renderPlan(plan, soldOut)),
    ),
  ];
}

/**
 * @param {Plan} plan
 * @param {boolean} isGroupSoldOut
 */
function renderPlan({ name, ram, storage, price, orderLink, soldOut }, isGroupSoldOut) {
  const isHighlighted = highlighted.includes(name);
  const order = h('a', { class: 'button', href: orderLink, 'aria-label': `Order ${name}` }, 'Order');
  return h(
    'tr',
    { class: isHighlighted ? 'highlighted' : undefined },
    h('th', { scope: 'row' }, name, ...(isHighlighted ? [' ', h('span', { class: 'mark' }, 'Our pick')] : [])),
    h('td', {}, `${ram} GB`),
    h('td', {}, `${storage} GB`),
    h(
      'td',
      { class: 'price' },
      h('strong', {}, formatPrice(price)),
      ' ',
      soldOut || isGroupSoldOut ? h('span', { class: 'sold-out' }, 'Sold out') : order,
    ),
  );
}
