// The lower bound: node:http alone, with headers in the form that costs least.
import { createServer } from 'node:http';
import { findArticle, info, missing, port, refusals, version } from './answers.ts';

const refused = new Map(refusals.map(({ method, target, answer }) => [`${method} ${target}`, answer]));
createServer((request, response) => {
  if (request.url === '/v1/info') {
    response.writeHead(200, info.flat).end(`${JSON.stringify({ version })}\n`);
    return;
  }
  const { status, flat, body } = request.url!.startsWith('/v1/kb/article?')
    ? findArticle(request.url!, request.headers)
    : (refused.get(`${request.method} ${request.url}`) ?? missing);
  response.writeHead(status, flat).end(status === 304 ? undefined : body);
}).listen(port, '127.0.0.1');
