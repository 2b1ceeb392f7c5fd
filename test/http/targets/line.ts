/**
 * A request in one line: `METHOD target | Header: value | ... || body`. `Host: x` and the length of the body are added by
 * default. `{key}` is an API key with all scopes, `{reader}` a read-only one, and `{etag}` the ETag of the same request
 * without its If-None-Match.
 */
export type Line = string;

/** A row: a request, or several of the same client; the last one is recorded. */
export type Row = Line | readonly Line[];

/** Parts of the rows. */
export const first = '/v1/blog/article?path=/blog/news/first';
export const encoded = '/v1/blog/article?path=%2Fblog%2Fnews%2Ffirst';
export const vps = '/v1/hosting/cloud/vps-custom';
export const power = '/v1/hosting/game/power';
export const gameConsole = '/v1/hosting/game/console';
export const log = '/v1/hosting/game/logs';
export const feedback = 'POST /v1/kb/feedback | Content-Type: application/json';
export const preflight = 'Access-Control-Request-Method: POST';
export const webSocket = 'Connection: Upgrade | Upgrade: websocket';
export const handshake = `${webSocket} | Sec-WebSocket-Version: 13 | Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==`;
export const bearer = 'Authorization: Bearer';
