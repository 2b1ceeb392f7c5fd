import { formatDate, h, image } from './page.js';

/** @typedef {import('./types.ts').BlogItem} BlogItem */

/**
 * Blog articles as cards.
 *
 * @param {BlogItem[]} articles
 */
export function renderCards(articles) {
  return h('ul', { class: 'cards' }, ...articles.map(renderCard));
}

/** @param {BlogItem} article */
function renderCard({ title, description, path, category, date, readTime, cover }) {
  return h(
    'li',
    { class: 'card' },
    image(cover, { width: 1200, height: 630 }),
    h('p', { class: 'facts' }, category, ' · ', h('time', { datetime: date }, formatDate(date)), ' · ', readTime),
    // The link covers the card, but a screen reader reads the title only.
    h('h3', {}, h('a', { href: path }, title)),
    h('p', {}, description),
  );
}
