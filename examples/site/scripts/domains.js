import { ApiError, get, request } from './api.js';
import { find, formatPrice, h, load, renderTable } from './page.js';

/** @typedef {import('./types.ts').DomainResult} Result */
/** @typedef {import('./types.ts').DomainPrices} Prices */

/** TLDs to try for a name without a TLD. Keep this list short: each search may query a registry. */
const suggested = ['.com', '.eu', '.net'];

const form = /** @type {HTMLFormElement} */ (document.querySelector('form.search'));
const field = /** @type {HTMLInputElement} */ (form.elements.namedItem('domain'));
const results = find('results');

form.addEventListener('submit', (event) => {
  event.preventDefault();
  history.pushState(null, '', `?${new URLSearchParams({ domain: field.value.trim() })}`);
  searchAddress();
});
addEventListener('popstate', searchAddress);
searchAddress();

void load(
  find('prices'),
  () => get('/v1/domains/tlds'),
  /** @param {Prices} list */ ({ tlds }) => [
    renderTable(['Ending', 'Register', 'Renew', 'Transfer'], tlds.map(renderPrices)),
  ],
);

/** @param {Prices['tlds'][number]} tld */
function renderPrices({ tld, pricing }) {
  const prices = [pricing.register, pricing.renew, pricing.transfer];
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, tld),
    ...prices.map((price) => h('td', {}, price === 0 ? 'free' : formatPrice(price))),
  );
}

/** Searches for the query in the page's URL, so results can be linked and the back button works. */
function searchAddress() {
  const text = (new URLSearchParams(location.search).get('domain') ?? '').trim().toLowerCase();
  field.value = text;
  const names = text === '' || text.includes('.') ? [text] : suggested.map((tld) => text + tld);
  results.replaceChildren(...names.filter(Boolean).map(searchName));
}

/** @param {string} name */
function searchName(name) {
  const row = h('li', {}, h('p', { class: 'loading' }, `Looking for ${name}…`));
  void load(
    row,
    () => search(name),
    (children) => children,
  );
  return row;
}

/**
 * Renders the result for one name; an invalid name is a result too.
 *
 * @param {string} name
 */
async function search(name) {
  try {
    const response = await request(`/v1/domains/search?${new URLSearchParams({ domain: name })}`);
    const unicode = response.headers.get('X-Domain-Unicode');
    return renderResult(await response.json(), unicode ? decodeURIComponent(unicode) : undefined);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 400) return [h('p', {}, h('strong', {}, name), ' is not a domain name.')];
    if (error.status === 404) return [h('p', {}, h('strong', {}, name), ' has an ending that we do not sell.')];
    if (error.status === 502) return renderUnknown(name);
    throw error;
  }
}

/**
 * @param {Result} result
 * @param {string | undefined} unicode The name as people write it, if that is another one.
 */
function renderResult({ domain, available, pricing, order_url: orderUrl }, unicode = domain) {
  const { register, renew, transfer } = pricing;
  const name = h('strong', {}, unicode);
  if (!available) {
    const price = transfer === 0 ? 'free' : formatPrice(transfer);
    return [
      h('p', { class: 'taken' }, name, ' is taken.'),
      h('p', {}, `Is it yours? A transfer to us costs ${price}.`),
    ];
  }
  return [
    h('p', { class: 'free' }, name, ' is available.'),
    h('p', {}, `${formatPrice(register)} for the first year, then ${formatPrice(renew)}.`),
    ...(orderUrl ? [h('a', { class: 'button', href: orderUrl, 'aria-label': `Order ${unicode}` }, 'Order')] : []),
  ];
}

/**
 * The registry did not answer: the name may be available or taken.
 *
 * @param {string} name
 */
function renderUnknown(name) {
  const button = h('button', { type: 'button' }, 'Try again');
  button.addEventListener('click', () => button.closest('li')?.replaceWith(searchName(name)));
  return [
    h('p', {}, 'The registry did not answer for ', h('strong', {}, name), '. The name may be available or taken.'),
    button,
  ];
}
