import { activityEndpoints } from '#contract/activity.ts';
import { docsEndpoints } from '#contract/docs.ts';
import { domainEndpoints } from '#contract/domains.ts';
import { toEndpoint } from '#contract/endpoint.ts';
import type { Endpoint, ServedFile } from '#contract/endpoint.ts';
import { feedbackEndpoints } from '#contract/feedback.ts';
import { hostingEndpoints } from '#contract/hosting.ts';
import { keyEndpoints } from '#contract/key.ts';
import { staticFiles } from '#contract/static-files.ts';
import type { ServedFileName } from '#contract/static-files.ts';
import { statusEndpoints } from '#contract/status.ts';

const served = Object.entries(staticFiles).filter(
  (entry): entry is [ServedFileName, ServedFile & (typeof entry)[1]] => 'path' in entry[1],
);
const { getPlans, getOpenApi, ...files } = Object.fromEntries(
  served.map(([name, file]) => [name, toEndpoint(file)]),
) as Record<ServedFileName, Endpoint>;

/** All operations of the API; routing, request checks and the OpenAPI document use this table. */
export const endpoints = {
  ...statusEndpoints,
  ...docsEndpoints,
  ...files,
  ...feedbackEndpoints,
  getPlans,
  getOpenApi,
  ...domainEndpoints,
  ...keyEndpoints,
  ...hostingEndpoints,
  ...activityEndpoints,
} as const satisfies Record<string, Endpoint>;

/** The operationId of an endpoint. */
export type EndpointName = keyof typeof endpoints;
