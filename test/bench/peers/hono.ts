import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { findArticle, port } from './answers.ts';

const app = new Hono();
app.get('/v1/kb/article', ({ req, body: reply }) => {
  const { status, headers, body } = findArticle(`/v1/kb/article?path=${req.query('path')}`, {
    'accept-encoding': req.header('accept-encoding'),
    'if-none-match': req.header('if-none-match'),
  });
  return status === 304 ? reply(null, status, headers) : reply(body, status as ContentfulStatusCode, headers);
});
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' });
