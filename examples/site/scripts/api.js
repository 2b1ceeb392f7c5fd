/** The address of the API, from parts/head.html. */
export const api = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name="api"]')).content;

/** A response that is not a success. */
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

/** After this time the page offers another try. */
const maxMs = 8000;

/**
 * Sends a request. Throws an ApiError if the response is not a success, a TypeError if there is none, and a TimeoutError if
 * it has not come in 8 s.
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
 * Reads JSON. The browser keeps it as long as the API allows, and then asks with its ETag.
 *
 * @param {string} path
 */
export async function get(path) {
  return (await request(path)).json();
}

/**
 * The errors of domains are JSON, those of content are text.
 *
 * @param {Response} response
 */
async function readMessage(response) {
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
  return isJson ? ((await response.json()).message ?? '') : (await response.text()).trim();
}
