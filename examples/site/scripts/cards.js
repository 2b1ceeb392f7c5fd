import { formatDate, h, image } from './page.js';

/** @typedef {import('./types.ts').BlogItem} BlogItem */

/**
 * Shows blog articles as cards.
 *
 * @param {BlogItem[]} articles
 * @param {'h2' | 'h3'} heading One level below the heading before the cards.
 */
export function renderCards(articles, heading) {
  return h('ul', { class: 'cards' }, ...articles.map((article) => renderCard(article, heading)));
}

/**
 * @param {BlogItem} article
 * @param {'h2' | 'h3'} heading
 */
function renderCard({ title, description, path, category, date, readTime, cover }, heading) {
  return h(
    'li',
    { class: 'card' },
    image(cover, { width: 1200, height: 630 }),
    h('p', { class: 'facts' }, category, ' · ', h('time', { datetime: date }, formatDate(date)), ' · ', readTime),
    // The link covers the card, but screen readers read only the title.
    h(heading, {}, h('a', { href: path }, title)),
    h('p', {}, description),
  );
}
