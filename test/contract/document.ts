import { renderOpenApi } from '#contract/openapi.ts';
import type { Examples, OpenApi } from '#contract/openapi.ts';

/** Examples of a release. */
export const ownExamples: Examples = {
  parameters: {
    getBlogArticle: { path: '/blog/news/first' },
    getMedia: { path: 'covers/first.svg' },
    getStatusWidgetVersion: { version: '0123456789abcdef' },
  },
  bodies: {
    getStatusWidget: '(()=>{})();\n',
    getStatusWidgetVersion: '(()=>{})();\n',
    getArticleStyle: '.markdown-body {}\n',
  },
};

/** Settings of a hosting company. */
export const presentation = { support: 'https://clients.example.com/support' };

/** The OpenAPI document as clients receive it, with fictional examples. */
export const document = JSON.parse(JSON.stringify(renderOpenApi(ownExamples, presentation))) as OpenApi;

/** Lists the operations of an OpenAPI document, each with path and method. */
export const operationsOf = ({ paths }: OpenApi) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
