import { get } from './api.js';
import { categoryOf, find, h, load } from './page.js';

/** @typedef {import('./types.ts').GuideList} Guides */

const category = new URLSearchParams(location.search).get('category');

void load(
  find('guides'),
  () => get(`/v1/kb/list${category ? `?${new URLSearchParams({ category })}` : ''}`),
  /** @param {Guides} guides */ (guides) => {
    const groups = Object.entries(Object.groupBy(guides, (guide) => guide.category));
    const sections = groups.map(([name, list = []]) => renderCategory(name, list));
    const all = h('p', {}, h('a', { href: '/knowledgebase' }, 'All guides'));
    return [h('div', { class: 'categories' }, ...sections), ...(category ? [all] : [])];
  },
);

/**
 * @param {string} name
 * @param {Guides} guides
 */
function renderCategory(name, guides) {
  const [first] = guides;
  const slug = first ? categoryOf(first) : '';
  return h(
    'section',
    { class: 'card', 'aria-labelledby': slug },
    h('h2', { id: slug }, h('a', { href: `/knowledgebase?category=${slug}` }, name)),
    h('ul', {}, ...guides.map(({ title, path }) => h('li', {}, h('a', { href: path }, title)))),
  );
}
