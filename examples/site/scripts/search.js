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
 * Searches the knowledge base in the browser, best matches first.
 *
 * @param {string} query
 * @returns {Promise<Result[]>}
 */
export async function search(query) {
  index ??= readIndex();
  try {
    const results = find(await index, query).slice(0, 10);
    return results.map(({ id, title, description, category }) => ({ path: id, title, description, category }));
  } catch (error) {
    // Let the next search load the index again.
    index = undefined;
    throw error;
  }
}

/** Loads the index with its own options. JSON cannot hold functions: processTerm is from docs/search.md. */
async function readIndex() {
  const { index: content, options } = await get('/v1/kb/search.json');
  return MiniSearch.loadJS(content, { ...options, processTerm });
}

/**
 * Returns guides with all words of the query first. Words of three or more letters also match longer words, and words
 * of four or more letters match misspelt words: see docs/search.md.
 *
 * @param {MiniSearch} guides
 * @param {string} query
 */
function find(guides, query) {
  const near = {
    prefix: (/** @type {string} */ term) => term.length > 2,
    fuzzy: (/** @type {string} */ term) => term.length > 3 && 0.2,
  };
  const results = /** @type {const} */ (['AND', 'OR']).flatMap((combineWith) =>
    guides.search(query, { ...near, combineWith }),
  );
  return results.filter(({ id }, place) => results.findIndex((other) => other.id === id) === place);
}

/** @param {string} term */
function processTerm(term) {
  return term
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .split(/[^\P{S}+]+|([\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmr}\p{scx=Mymr}]+)/u)
    .flatMap((part, at) => {
      const signs = at % 2 && part ? Array.from(part) : [part];
      return signs.length > 1 ? signs.slice(1).map((sign, before) => signs[before] + sign) : signs;
    })
    .filter(Boolean);
}
