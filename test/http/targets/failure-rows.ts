import { first, vps, gameConsole, log, feedback, handshake, bearer } from './line.ts';
import type { Line } from './line.ts';

/** Requests to a server with CORS for one origin, from a client that has used up its only request. */
export const limitedRows: readonly Line[] = [
  `GET ${first}`,
  `GET ${first} | If-None-Match: *`,
  'GET /v1/plans?x=1 | Origin: https://www.example.com',
  'HEAD /v1/plans',
  'GET /v1/blog/article',
  'GET /v1/blog/article?path=/blog/news/none',
  'GET /v1/info | Origin: https://other.example',
  'GET /v1/domains/tlds',
  `${feedback} || {"helpful":true}`,
  'GET /v1/domains/search?domain=example.com',
  `POST ${vps}/mine/start | ${bearer} {key}`,
  `GET ${log}/mine/latest`,
  'POST /v1/plans',
  'OPTIONS /v1/plans | Origin: https://www.example.com | Access-Control-Request-Method: GET',
  'GET /v1/nothing',
  'GET /nothing',
  'GET /health',
  'GET /media/kb/map.svg',
  `GET ${gameConsole}/mine/stream | ${handshake}`,
];

/** Requests to a server without its table of API keys, with a failing chat and status source. */
export const brokenRows: readonly Line[] = [
  `POST ${vps}/mine/start | ${bearer} {key}`,
  `GET ${log}/mine/latest | ${bearer} {key} | Origin: https://www.example.com`,
  `HEAD ${log}/mine/latest | ${bearer} {key}`,
  `POST ${gameConsole}/mine/command | ${bearer} {key} | Content-Length: 16385`,
  `${feedback} || {"helpful":true}`,
  'GET /v1/status',
  'HEAD /v1/status',
  'GET /ready',
  'GET /v1/plans',
];
