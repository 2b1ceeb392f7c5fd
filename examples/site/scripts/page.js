import { ApiError, api } from './api.js';

/**
 * Finds a required element.
 *
 * @param {string} id
 */
export function find(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}

/**
 * Creates an element. Strings become text, never HTML; attributes with `undefined` are skipped.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | undefined>} attributes
 * @param {(Node | string)[]} children
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/** The latest load() per element: an older call must not overwrite its result. */
/** @type {WeakMap<Element, object>} */
const newest = new WeakMap();

/**
 * Fills an element with the result of `read`. Marks it as busy while loading; after a failure, shows the reason and
 * retries or offers a retry.
 *
 * @template Data
 * @param {HTMLElement} element
 * @param {() => Promise<Data>} read
 * @param {(data: Data) => (Node | string)[]} render
 */
export async function load(element, read, render) {
  const call = {};
  newest.set(element, call);
  element.ariaBusy = 'true';
  if (!element.hasChildNodes()) element.append(h('p', { class: 'loading' }, 'Loading…'));
  /** @type {() => (Node | string)[]} */
  let renderOutcome;
  try {
    const data = await read();
    renderOutcome = () => render(data);
  } catch (error) {
    const retry = () => {
      element.replaceChildren();
      return load(element, read, render);
    };
    renderOutcome = () => [renderFailure(error, retry)];
  }
  if (newest.get(element) !== call) return;
  element.replaceChildren(...renderOutcome());
  element.ariaBusy = 'false';
}

/**
 * @param {unknown} error
 * @param {() => unknown} retry
 */
function renderFailure(error, retry) {
  const message = h('p', { class: 'failure', role: 'alert' }, explain(error));
  if (error instanceof ApiError && error.status === 429) {
    setTimeout(retry, Math.max(1, error.retryAfter) * 1000);
  } else {
    const button = h('button', { type: 'button' }, 'Try again');
    button.addEventListener('click', retry);
    message.append(' ', button);
  }
  return message;
}

/**
 * Explains a failed request to a visitor.
 *
 * @param {unknown} error
 */
export function explain(error) {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'Our servers did not answer in time.';
  if (!(error instanceof ApiError)) return 'The page could not reach our servers. Are you online?';
  if (error.status !== 429) return 'Our servers could not process the request.';
  const seconds = Math.max(1, error.retryAfter);
  return `Too many requests from your network. Please wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}

/**
 * Creates a table, which scrolls if it is wider than the screen.
 *
 * @param {string[]} columns
 * @param {HTMLTableRowElement[]} rows
 */
export function renderTable(columns, rows) {
  const head = h('tr', {}, ...columns.map((name) => h('th', { scope: 'col' }, name)));
  return h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, head), h('tbody', {}, ...rows)));
}

/** Scrolls to the element in the URL's fragment, which did not exist when the browser looked for it. */
export function scrollToAnchor() {
  let id = location.hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // The fragment is not percent-encoded: use it unchanged.
  }
  document.getElementById(id)?.scrollIntoView();
}

/** The API's prices are in euro. */
const euro = new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' });

/** @param {number} price */
export function formatPrice(price) {
  return euro.format(price);
}

const calendar = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });

/** @param {string} date A calendar date, YYYY-MM-DD. */
export function formatDate(date) {
  return calendar.format(new Date(date));
}

/**
 * Creates an image from the API: covers and pictures of articles are paths below /media/.
 *
 * @param {string} path
 * @param {Record<string, string | number>} [attributes]
 */
export function image(path, attributes) {
  return h('img', { src: api + path, alt: '', loading: 'lazy', decoding: 'async', ...attributes });
}

/**
 * Returns the slug of a category: the path segment before the article's slug.
 *
 * @param {{ path: string }} article
 */
export function categoryOf({ path }) {
  return /** @type {string} */ (path.split('/')[2]);
}
