import { z } from 'zod';
import { takesIdempotencyKey } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import type { Operation } from '#contract/openapi-document.ts';

type Parameter = Operation['parameters'][number];

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'For 24 hours, a request with the same key gets the first response again and does not act again.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  example: 'restart-2026-03-01-a',
};

const range: Parameter = {
  name: 'Range',
  in: 'header',
  required: false,
  description: 'The part of the file to send, such as bytes=0-1023 or bytes=-500. Of several parts, all of it is sent.',
  schema: { type: 'string' },
  example: 'bytes=0-99',
};

/** What the names in paths stand for. */
const inPaths: Readonly<Record<string, { readonly description: string; readonly example: string }>> = {
  id: { description: 'ID of the VPS.', example: 'demo' },
  server_id: { description: 'ID of the game server.', example: 'demo' },
  request_id: { description: 'The X-Request-Id of the request.', example: 'restart-4711' },
  path: {
    description: 'Path of the file below /media/; a slash in it may be written as %2F.',
    example: 'covers/price-list.svg',
  },
};

/** Renders the parameters of an endpoint. `widgetVersion` is the version of the status widget in the release. */
export function renderParameters(endpoint: Endpoint, widgetVersion: string): Parameter[] {
  const { path, query } = endpoint;
  const known: typeof inPaths = {
    ...inPaths,
    version: { description: 'The version: 16 hexadecimal digits.', example: widgetVersion },
  };
  const inPath = [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = '']) => ({
    name,
    in: 'path' as const,
    required: true,
    schema: { type: 'string' },
    ...known[name]!,
  }));
  const inQuery = Object.entries<z.ZodType>(query?.shape ?? {}).map(([name, schema]) => {
    const { $schema: _, description = '', example, ...shape } = z.toJSONSchema(schema);
    const required = !z.safeParse(schema, undefined).success;
    return { name, in: 'query' as const, required, description, schema: shape, example };
  });
  const inHeaders = [
    ...(takesIdempotencyKey(endpoint) ? [idempotencyKey] : []),
    ...(206 in endpoint.replies ? [range] : []),
  ];
  return [...inPath, ...inQuery, ...inHeaders];
}
