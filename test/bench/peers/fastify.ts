import fastify from 'fastify';
import type { RouteHandlerMethod } from 'fastify';
import { findArticle, info, port, refusals, version } from './answers.ts';

const app = fastify();
app.get('/v1/kb/article', (request, reply) => {
  const { status, headers, body } = findArticle(request.url, request.headers);
  return reply
    .code(status)
    .headers(headers)
    .send(status === 304 ? undefined : body);
});
app.get('/v1/info', (_, reply) => reply.headers(info.headers).send(`${JSON.stringify({ version })}\n`));
for (const { method, target, answer } of refusals) {
  const handler: RouteHandlerMethod = (_, reply) => reply.code(answer.status).headers(answer.headers).send(answer.body);
  app.route({ method, url: target, handler });
}
await app.listen({ port, host: '127.0.0.1' });
