import { z } from 'zod';
import { endpointDefaults, tags } from '#contract/endpoint.ts';
import type { Endpoint, FileEndpoint, StaticFile } from '#contract/endpoint.ts';
import { object, text } from '#contract/primitives.ts';

/** The OpenAPI document without operations and components. */
export const head = {
  openapi: '3.1.1',
  info: {
    title: 'Hosting API',
    // The version of the API; releases have a version of their own.
    version: '1.0.0',
    description: [
      'Blog and knowledge base articles, plans, domains, hosting controls and platform status.',
      'Every GET endpoint also supports HEAD. Every response has an X-Request-Id; quote it when you contact support.',
      'A request with an ETag in If-None-Match gets 304 if nothing has changed.',
      'Examples of parameters and of content are from this service, other examples are samples.',
    ].join(' '),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  // After PUBLIC_URL, which clients take as their default: several instances may serve the document.
  servers: [{ url: '/', description: 'The instance that served this document.' }],
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
};

const AnyObject = z.record(z.string(), z.unknown());

/** The hosting company in the documentation: name, support page, address of the service. */
export type Presentation = Readonly<Partial<Record<'name' | 'support' | 'service', string | undefined>>>;

/** Creates the `info` of the OpenAPI document of a hosting company. */
export function toInfo({ name, support }: Presentation) {
  const { title, ...others } = head.info;
  return { title: name ?? title, ...others, ...(support && { contact: { name: 'Customer support', url: support } }) };
}

export const OpenApiDocument = object(
  'OpenApiDocument',
  'An OpenAPI 3.1 document, reduced to the parts in use here.',
  {
    openapi: text('Version of OpenAPI.', /^3\.1\.\d+$/),
    info: AnyObject.describe('Title, version and description of the API.'),
    servers: z.array(AnyObject).describe('The addresses of the API.'),
    tags: z.array(AnyObject).describe('The groups of operations.'),
    paths: AnyObject.describe('All operations, by path and method.'),
    components: AnyObject.describe('Schemas, headers and security schemes that operations refer to.'),
  }, // Without the operations, which would repeat the document.
  { ...head, paths: {}, components: { schemas: {}, headers: {}, securitySchemes: {} } },
);

const page = { tag: 'Service', isPage: true } as const;

/** The documentation pages, and the OpenAPI document. */
export const docsEntries = {
  getRoot: {
    ...endpointDefaults,
    ...page,
    path: '/',
    summary: 'Redirect to the documentation',
    description: 'Redirects a browser that opens the address of the API to /docs.',
    replies: { 302: { description: 'The documentation is at /docs.', mediaType: '*/*' } },
  },
  getDocs: {
    ...page,
    file: 'public/docs/index.html',
    path: '/docs',
    summary: 'The documentation, with an interactive reference',
    description: 'The same page as /docs/.',
    mediaType: 'text/html; charset=utf-8',
    reply: 'The page.',
    failure: 'internal_error',
  },
  getDocsFile: {
    ...page,
    file: 'public/docs/{path*}',
    path: '/docs/{path*}',
    summary: 'Another page of the documentation, or one of its scripts and style sheets',
    description: 'The name of a script or style sheet changes with its content.',
    mediaType: {
      html: 'text/html; charset=utf-8',
      css: 'text/css; charset=utf-8',
      js: 'text/javascript; charset=utf-8',
    },
    isImmutable: true,
    reply: 'The file.',
    absent: 'not_found',
    failure: 'internal_error',
  },
  /** The page of the operators' port. */
  operatorDocs: {
    file: 'operators/docs.html',
    mediaType: 'text/html; charset=utf-8',
    // A release of an earlier version.
    absent: 'not_found',
  },
  callMcp: {
    ...endpointDefaults,
    ...page,
    method: 'POST',
    path: '/v1/mcp',
    summary: 'Tools for agents, by the Model Context Protocol',
    description:
      'Answers one message of the protocol, without a session. With a key, it has the tools for servers too.',
    errorStyle: 'json',
    hasOptionalKey: true,
    body: { schema: AnyObject, required: true },
    replies: { 200: { description: 'A message of the protocol.', mediaType: 'application/json' } },
    problems: ['validation_error', 'unauthorized', 'forbidden', 'request_timeout'],
    messages: { forbidden: 'Pages of this origin may not use this endpoint' },
  },
  getOpenApi: {
    file: 'public/v1/openapi.json',
    path: '/v1/openapi.json',
    tag: 'Service',
    summary: 'Retrieve the OpenAPI document of this API',
    description: 'Returns the OpenAPI document of this API, the same on all instances with the same release.',
    schema: OpenApiDocument,
    reply: 'An OpenAPI 3.1 document.',
    failure: 'internal_error',
  },
} as const satisfies Record<string, Endpoint | FileEndpoint | StaticFile>;
