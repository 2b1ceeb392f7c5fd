import { api } from './api.js';

/**
 * The only conversion from text to HTML that this site's Content-Security-Policy allows (Trusted Types). TypeScript has
 * no types for it yet.
 */
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy('article', {
  createHTML: (/** @type {string} */ html) => html,
});

/**
 * Parses the `html` of an article, which the API has sanitised. Files below /media/ are on the API's host; links to
 * other articles are paths of this site.
 *
 * @param {string} html
 */
export function parseArticle(html) {
  const template = document.createElement('template');
  template.innerHTML = policy ? policy.createHTML(html) : html;
  for (const name of ['src', 'href', 'poster']) {
    for (const element of template.content.querySelectorAll(`[${name}^="/media/"]`)) {
      element.setAttribute(name, api + element.getAttribute(name));
    }
  }
  for (const element of template.content.querySelectorAll('[srcset]')) {
    const list = element.getAttribute('srcset') ?? '';
    element.setAttribute('srcset', list.replace(/(^|[\s,])\/media\//g, `$1${api}/media/`));
  }
  return template.content;
}
