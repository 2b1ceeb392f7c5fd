import fastify from 'fastify';
import { findArticle, port } from './answers.ts';

const app = fastify();
app.get('/v1/kb/article', (request, reply) => {
  const { status, headers, body } = findArticle(request.url, request.headers);
  return reply
    .code(status)
    .headers(headers)
    .send(status === 304 ? undefined : body);
});
await app.listen({ port, host: '127.0.0.1' });
