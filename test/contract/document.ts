import { renderOpenApi } from '#contract/openapi.ts';
import type { OpenApiDocument } from '#contract/openapi-document.ts';

/** A status widget. */
export const widget = { version: '0123456789abcdef', script: '(()=>{})();\n' };

/** The machine description after a JSON round trip, as clients receive it, with a status widget that no release has. */
export const document = JSON.parse(JSON.stringify(renderOpenApi(widget))) as OpenApiDocument;
