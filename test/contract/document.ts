import { renderOpenApi } from '#contract/openapi.ts';
import type { OpenApiDocument } from '#contract/openapi-document.ts';

/** The machine description after a JSON round trip, as clients receive it, with a version of the widget that no release has. */
export const document = JSON.parse(
  JSON.stringify(renderOpenApi({ widgetVersion: '0123456789abcdef' })),
) as OpenApiDocument;
