import { parseArticle } from './article-html.js';
import { ApiError, api, get } from './api.js';
import { renderFeedback } from './feedback.js';
import { renderNeighbours } from './neighbours.js';
import { categoryOf, find, formatDate, h, image, load, scrollToAnchor } from './page.js';

/** @typedef {import('./types.ts').BlogArticle} BlogArticle */
/** @typedef {import('./types.ts').Guide} Guide */

const isBlog = location.pathname.startsWith('/blog/');
const list = isBlog
  ? { name: 'Blog', path: '/blog', api: '/v1/blog', previous: 'Newer', next: 'Older' }
  : { name: 'Help', path: '/knowledgebase', api: '/v1/kb', previous: 'Previous', next: 'Next' };

await load(
  find('article'),
  async () => (await Promise.all([readArticle(), loadStyle()]))[0],
  (article) => (article ? renderArticle(article) : renderMissing()),
);
scrollToAnchor();

/**
 * Loads the API's style sheet, waiting at most 2 s. Only articles need it, and a link in the head would keep the page
 * blank while the API is slow.
 */
function loadStyle() {
  const style = h('link', { rel: 'stylesheet', href: `${api}/v1/article.css` });
  document.head.append(style);
  return new Promise((done) => {
    for (const outcome of ['load', 'error']) style.addEventListener(outcome, done);
    setTimeout(done, 2000);
  });
}

/** @returns {Promise<BlogArticle | Guide | undefined>} */
async function readArticle() {
  try {
    return await get(`${list.api}/article?${new URLSearchParams({ path: location.pathname })}`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** @param {BlogArticle | Guide} article */
function renderArticle(article) {
  const { title, description, path, category, html } = article;
  document.title = `${title} - Example Hosting`;
  document.querySelector('meta[name="description"]')?.setAttribute('content', description);
  document.head.append(h('link', { rel: 'canonical', href: location.origin + path }));
  // A former path returns the article too.
  if (path !== location.pathname) history.replaceState(null, '', path + location.hash);
  const body = h('div', { class: 'markdown-body' }, parseArticle(html));
  for (const code of body.querySelectorAll('pre')) {
    const box = h('div', { class: 'code' });
    code.replaceWith(box);
    box.append(renderCopyButton(code), code);
  }
  return [
    h(
      'nav',
      { class: 'crumbs', 'aria-label': 'Breadcrumb' },
      h('a', { href: list.path }, list.name),
      ' / ',
      h('a', { href: `${list.path}?category=${categoryOf(article)}` }, category),
    ),
    h(
      'div',
      { class: 'columns' },
      h(
        'article',
        {},
        h('h1', {}, title),
        ...('date' in article ? renderFacts(article) : [h('p', { class: 'lead' }, description)]),
        body,
        ...(isBlog ? [] : [renderFeedback(article)]),
        renderNeighbours(article, list),
      ),
      renderOutline(body),
    ),
  ];
}

/** @param {BlogArticle} article */
function renderFacts({ date, author, readTime, cover }) {
  return [
    h('p', { class: 'facts' }, author, ' · ', h('time', { datetime: date }, formatDate(date)), ' · ', readTime),
    image(cover, { class: 'cover', width: 1200, height: 630, loading: 'eager' }),
  ];
}

/** @param {HTMLElement} code */
function renderCopyButton(code) {
  const button = h('button', { type: 'button', class: 'copy' }, 'Copy');
  const copy = async () => {
    await navigator.clipboard.writeText(code.innerText);
    button.textContent = 'Copied';
  };
  button.addEventListener('click', () => void copy());
  return button;
}

/**
 * Links to the headings, and marks the current heading.
 *
 * @param {HTMLElement} body
 */
function renderOutline(body) {
  const headings = [...body.querySelectorAll('h2[id]:not(.sr-only)')];
  const links = headings.map((heading) => {
    const title = /** @type {Element} */ (heading.cloneNode(true));
    // Numbers of footnotes are not part of a title.
    for (const number of title.querySelectorAll('[data-footnote-ref]')) number.remove();
    return h('a', { href: `#${heading.id}` }, title.textContent ?? '');
  });
  const mark = () => {
    const read = headings.findLastIndex((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
    for (const [place, link] of links.entries()) link.ariaCurrent = place === read ? 'true' : null;
  };
  addEventListener('scroll', mark, { passive: true });
  return h(
    'aside',
    {},
    h(
      'nav',
      { class: 'outline', 'aria-labelledby': 'outline' },
      h('h2', { id: 'outline' }, 'On this page'),
      h('ul', {}, ...links.map((link) => h('li', {}, link))),
    ),
  );
}

function renderMissing() {
  document.title = 'Not found - Example Hosting';
  // The status of this page is 200, because the web server has no list of articles.
  document.head.append(h('meta', { name: 'robots', content: 'noindex' }));
  return [
    h('h1', {}, 'Article not found'),
    h('p', { class: 'lead' }, 'It may have been removed. ', h('a', { href: list.path }, 'See all articles.')),
  ];
}
