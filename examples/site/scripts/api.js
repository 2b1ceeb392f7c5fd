/** The address of the API, from parts/head.html. */
export const api = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name="api"]')).content;

/** An unsuccessful response. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {number} retryAfter Seconds, 0 if the response does not say.
   */
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** After this time the page offers a retry. */
const maxMs = 8000;

/**
 * Sends a request. Throws an ApiError for an unsuccessful response, a TypeError without a response, and a TimeoutError
 * after 8 s.
 *
 * @param {string} path
 * @param {RequestInit} [init]
 */
export async function request(path, init) {
  const response = await fetch(api + path, { signal: AbortSignal.timeout(maxMs), ...init });
  if (response.ok) return response;
  throw new ApiError(response.status, await readMessage(response), Number(response.headers.get('Retry-After')));
}

/**
 * Reads JSON. The browser caches the response as long as the API allows, then revalidates it with its ETag.
 *
 * @param {string} path
 */
export async function get(path) {
  return (await request(path)).json();
}

/**
 * Errors are JSON for domains, and text for content.
 *
 * @param {Response} response
 */
async function readMessage(response) {
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
  return isJson ? ((await response.json()).message ?? '') : (await response.text()).trim();
}
