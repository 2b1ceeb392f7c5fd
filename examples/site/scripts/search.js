import MiniSearch from './minisearch.js';
import { get } from './api.js';

/**
 * @typedef {object} Result
 * @property {string} path
 * @property {string} title
 * @property {string} description
 * @property {string} category
 */

/** @type {Promise<MiniSearch> | undefined} */
let index;

/**
 * Searches the knowledge base in the browser: the best guides first.
 *
 * @param {string} query
 * @returns {Promise<Result[]>}
 */
export async function search(query) {
  index ??= readIndex();
  try {
    const results = (await index).search(query).slice(0, 10);
    return results.map(({ id, title, description, category }) => ({ path: id, title, description, category }));
  } catch (error) {
    // The next search reads it again.
    index = undefined;
    throw error;
  }
}

/** Reads the index with the options that it was made with. JSON holds no functions: docs/search.md has the one it lacks. */
async function readIndex() {
  const { index: content, options } = await get('/v1/kb/search.json');
  return MiniSearch.loadJS(content, { ...options, processTerm });
}

/** @param {string} term */
function processTerm(term) {
  return term.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase();
}
