// The lower bound: plain node:http, with headers in their cheapest form.
import { createServer } from 'node:http';
import { cases, findArticle, info, missing, port, version } from './answers.ts';

const others = new Map(cases.map(({ method, target, answer }) => [`${method} ${target}`, answer]));
createServer((request, response) => {
  if (request.url === '/v1/info') {
    response.writeHead(200, info.flat).end(`${JSON.stringify({ version })}\n`);
    return;
  }
  const { status, flat, body } = request.url!.startsWith('/v1/kb/article?')
    ? findArticle(request.url!, request.headers)
    : (others.get(`${request.method} ${request.url}`) ?? missing);
  response.writeHead(status, flat).end(status === 304 ? undefined : body);
}).listen(port, '127.0.0.1');
