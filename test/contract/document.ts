import { renderOpenApi } from '#contract/openapi.ts';
import type { OpenApi } from '#contract/openapi.ts';

/** What a release has besides content. */
export const files = {
  widgetVersion: '0123456789abcdef',
  texts: { 'application/javascript': '(()=>{})();\n', 'text/css': '.markdown-body {}\n' },
};

/** What a host sets. */
export const presentation = { support: 'https://clients.example.com/support' };

/** The OpenAPI document after a JSON round trip, as clients receive it, with files that no release has. */
export const document = JSON.parse(JSON.stringify(renderOpenApi(files, presentation))) as OpenApi;

/** The operations of an OpenAPI document, each with its path and method. */
export const operationsOf = ({ paths }: OpenApi) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
