import { renderOpenApi } from '#contract/openapi.ts';
import type { OpenApi } from '#contract/openapi.ts';

/** Generated files of a release. */
export const files = {
  widgetVersion: '0123456789abcdef',
  texts: { 'application/javascript': '(()=>{})();\n', 'text/css': '.markdown-body {}\n' },
};

/** Settings of a hosting company. */
export const presentation = { support: 'https://clients.example.com/support' };

/** The OpenAPI document as clients receive it, with fictional generated files. */
export const document = JSON.parse(JSON.stringify(renderOpenApi(files, presentation))) as OpenApi;

/** Lists the operations of an OpenAPI document, each with path and method. */
export const operationsOf = ({ paths }: OpenApi) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
