import { renderOpenApi } from '#contract/openapi.ts';
import type { OpenApiDocument } from '#contract/docs.ts';

/** What a release has beside content. */
export const files = {
  widgetVersion: '0123456789abcdef',
  texts: { 'application/javascript': '(()=>{})();\n', 'text/css': '.markdown-body {}\n' },
};

/** The OpenAPI document after a JSON round trip, as clients receive it, with files that no release has. */
export const document = JSON.parse(JSON.stringify(renderOpenApi(files))) as OpenApiDocument;
