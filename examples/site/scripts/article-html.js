import { api } from './api.js';

/**
 * The only way from text to HTML: the Content-Security-Policy of this site forbids every other (Trusted Types).
 * TypeScript does not know them yet.
 */
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy('article', {
  createHTML: (/** @type {string} */ html) => html,
});

/**
 * Parses the `html` of an article, which the API has sanitised. Files below /media/ are on the host of the API; links to
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
