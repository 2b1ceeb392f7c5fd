import { z } from 'zod';
import { endpointDefaults, tags } from '#contract/endpoint.ts';
import type { Endpoint, FileEndpoint } from '#contract/endpoint.ts';
import { object, text } from '#contract/primitives.ts';

/** All but the operations and their components. */
export const head = {
  openapi: '3.1.1',
  info: {
    title: 'Hosting API',
    // The version of the API, which is independent of the version of releases.
    version: '1.0.0',
    description: [
      'Blog and knowledge base articles, plans, domains, hosting controls and the state of this service.',
      'Every GET endpoint also supports HEAD. Every response has an X-Request-Id: quote it when you contact support.',
      'A request with an ETag in If-None-Match gets 304 if nothing has changed.',
      'The examples are responses of the sample content.',
    ].join(' '),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  // The description is a file of the release, which several instances may serve under several names.
  servers: [{ url: '/', description: 'The instance that answered with this description.' }],
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
};

const AnyObject = z.record(z.string(), z.unknown());

/** What the documentation says of the host: its name, the page where customers get help, the address of the service. */
export type Presentation = Readonly<Partial<Record<'name' | 'support' | 'service', string | undefined>>>;

/** The part `info` of the document of a host. */
export function toInfo({ name, support }: Presentation) {
  const { title, ...others } = head.info;
  return { title: name ?? title, ...others, ...(support && { contact: { name: 'Customer support', url: support } }) };
}

export const OpenApiDocument = object(
  'OpenApiDocument',
  'An OpenAPI 3.1 document, with only the parts that this one uses.',
  {
    openapi: text('Version of OpenAPI.', /^3\.1\.\d+$/),
    info: AnyObject.describe('What this document describes.'),
    servers: z.array(AnyObject).describe('Where the API is.'),
    tags: z.array(AnyObject).describe('The resources of the API.'),
    paths: AnyObject.describe('All operations, by path and method.'),
    components: AnyObject.describe('What operations refer to.'),
  }, // Without the operations, which would repeat the document.
  { ...head, paths: {}, components: { schemas: {}, headers: {}, securitySchemes: {} } },
);

const page = { tag: 'Service', isPage: true } as const;

/** The pages for people who use the API, and the OpenAPI document, which says the same to programs. */
export const docsEntries = {
  getRoot: {
    ...endpointDefaults,
    ...page,
    path: '/',
    summary: 'The way to the documentation',
    description: 'A browser that opens the address of the API gets to /docs.',
    replies: { 302: { description: 'The documentation is at /docs.', mediaType: '*/*' } },
  },
  getDocs: {
    ...page,
    file: 'public/docs/index.html',
    path: '/docs',
    summary: 'The documentation, with a reference in which requests can be tried',
    description: 'The same page is at /docs/.',
    mediaType: 'text/html; charset=utf-8',
    reply: 'The page.',
    failure: 'internal_error',
  },
  getDocsFile: {
    ...page,
    file: 'public/docs/{path*}',
    path: '/docs/{path*}',
    summary: 'A further page of the documentation, or a script or style sheet of it',
    description: 'The name of a script or style sheet changes with its bytes.',
    mediaType: {
      html: 'text/html; charset=utf-8',
      css: 'text/css; charset=utf-8',
      js: 'text/javascript; charset=utf-8',
      txt: 'text/plain; charset=utf-8',
    },
    isImmutable: true,
    reply: 'The file.',
    absent: 'not_found',
    failure: 'internal_error',
  },
  getOpenApi: {
    file: 'public/v1/openapi.json',
    path: '/v1/openapi.json',
    tag: 'Service',
    summary: 'The OpenAPI description of this API',
    description: 'This document. It is the same for all instances with one release.',
    schema: OpenApiDocument,
    reply: 'An OpenAPI 3.1 document.',
    failure: 'internal_error',
  },
} as const satisfies Record<string, Endpoint | FileEndpoint>;
