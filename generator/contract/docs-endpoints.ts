import { file, plain } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';

const page = { tag: 'Service', isPage: true } as const;

/** The pages for people who use the API: they say in words what the machine description says to programs. */
export const docsEndpoints = {
  getRoot: {
    ...plain,
    ...page,
    path: '/',
    summary: 'The way to the documentation',
    description: 'A browser that opens the address of the API gets to /docs.',
    replies: { 302: { description: 'The documentation is at /docs.', mediaType: '*/*' } },
  },
  getDocs: {
    ...file,
    ...page,
    path: '/docs',
    summary: 'The documentation, with a reference in which requests can be tried',
    description: 'The same page is at /docs/.',
    replies: { 200: { description: 'The page.', mediaType: 'text/html' } },
  },
  getDocsFile: {
    ...file,
    ...page,
    path: '/docs/{path*}',
    summary: 'A further page of the documentation, or a script or style sheet of it',
    description: 'The name of a script or style sheet changes with its bytes.',
    replies: { 200: { description: 'The file.', mediaType: '*/*' } },
    problems: ['not_found'],
  },
} as const satisfies Record<string, Endpoint>;
