import fastify from 'fastify';
import { findArticle, info, port, version } from './answers.ts';

const app = fastify();
app.get('/v1/kb/article', (request, reply) => {
  const { status, headers, body } = findArticle(request.url, request.headers);
  return reply
    .code(status)
    .headers(headers)
    .send(status === 304 ? undefined : body);
});
app.get('/v1/info', (_, reply) => reply.headers(info.headers).send(`${JSON.stringify({ version })}\n`));
await app.listen({ port, host: '127.0.0.1' });
