import { z } from 'zod';
import { activityEndpoints } from '#contract/activity.ts';
import examples from '#contract/examples.json' with { type: 'json' };
import { contentEndpoints } from '#contract/content-endpoints.ts';
import { docsEndpoints } from '#contract/docs-endpoints.ts';
import { DomainSearchResponse, DomainTLDListResponse } from '#contract/domains.ts';
import { file, json, plain } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { hostingEndpoints } from '#contract/hosting-endpoints.ts';
import { keyEndpoints } from '#contract/key.ts';
import { KBFeedbackRequest, SuccessResponse } from '#contract/feedback.ts';
import { OpenApiDocument } from '#contract/openapi-document.ts';
import { PlanCatalogResponse } from '#contract/plans.ts';
import { siteEndpoints } from '#contract/site-endpoints.ts';
import { HealthResponse, InfoResponse, ReadyResponse, StatusErrorResponse, StatusResponse } from '#contract/status.ts';

/** All operations of the API; routing, request checks and the OpenAPI document use this table. */
export const endpoints = {
  getHealth: {
    ...plain,
    path: '/health',
    tag: 'Service',
    summary: 'Whether the process is running',
    description: 'For supervisors: it says only that the process lives. It has no rate limit.',
    replies: { 200: json('The process is running.', HealthResponse) },
  },
  getReady: {
    ...plain,
    path: '/ready',
    tag: 'Service',
    summary: 'Whether this instance accepts traffic',
    description:
      'For load balancers: during a shutdown, or while the store does not answer, send no requests to this instance.',
    replies: {
      200: json('It accepts traffic.', ReadyResponse),
      503: json('It is shutting down or cannot serve requests yet.', ReadyResponse, { status: 'draining' }),
    },
  },
  getInfo: {
    ...plain,
    path: '/v1/info',
    tag: 'Service',
    summary: 'The running version',
    description: 'The version of the program, not of the API: that is info.version of this description.',
    replies: { 200: json('The running version.', InfoResponse) },
  },
  getStatus: {
    ...plain,
    stored: 'memory',
    path: '/v1/status',
    tag: 'Status',
    summary: 'Whether the platform is up, under maintenance or disrupted',
    description: 'The lists name the affected components; a list without names is left out.',
    replies: {
      200: json('The state, with the names of the affected components.', StatusResponse),
      503: json('The state is unknown.', StatusErrorResponse),
    },
  },
  getStatusWidget: {
    ...file,
    path: '/v1/service-status.js',
    tag: 'Status',
    summary: 'The status widget: a script that shows the status on any site',
    description:
      'It draws the state where a page includes it. This address always has the newest version; pages with an integrity attribute use an address with a version.',
    replies: {
      200: { description: 'The script.', mediaType: 'application/javascript' },
    },
  },
  getStatusWidgetVersion: {
    ...file,
    path: '/v1/service-status.{version}.js',
    tag: 'Status',
    summary: 'One version of the status widget; its bytes never change',
    description: 'The file v1/service-status.json of a release has its path, and its hash for the integrity attribute.',
    replies: {
      200: { description: 'The script.', mediaType: 'application/javascript' },
    },
    problems: ['not_found'],
  },
  ...docsEndpoints,
  ...contentEndpoints,
  ...siteEndpoints,
  sendFeedback: {
    ...plain,
    method: 'POST',
    path: '/v1/kb/feedback',
    tag: 'Knowledge base',
    summary: 'Report whether a knowledge base article was helpful',
    description: 'Each client may send one report in 30 seconds, unless the operator sets another limit.',
    body: { schema: KBFeedbackRequest, required: true, invalid: 'invalid_feedback', strict: true },
    missing: { code: 'invalid_feedback' },
    limit: 'feedback',
    replies: {
      200: json('The feedback was counted and sent to the team.', SuccessResponse),
      202: json('The feedback was counted; sending it to the team is disabled.', SuccessResponse),
    },
    problems: ['invalid_feedback', 'unsupported_media_type', 'feedback_not_built', 'feedback_not_delivered'],
  },
  getPlans: {
    ...file,
    path: '/v1/plans',
    tag: 'Plans',
    summary: 'All plans, by service and by game',
    description: 'Memory and storage are in GB. A plan that is sold out stays in the list.',
    replies: {
      200: json('The plan catalog.', PlanCatalogResponse),
    },
  },
  getOpenApi: {
    ...file,
    path: '/v1/openapi.json',
    tag: 'Service',
    summary: 'The OpenAPI description of this API',
    description: 'This document. It is the same for all instances of one version.',
    replies: { 200: json('An OpenAPI 3.1 document.', OpenApiDocument) },
  },
  listDomainTlds: {
    ...plain,
    stored: 'memory',
    errorStyle: 'json',
    path: '/v1/domains/tlds',
    tag: 'Domains',
    summary: 'All TLDs for sale, with their prices for one year',
    description: 'Prices are in euro and for one year. Only these TLDs can be searched.',
    replies: { 200: json('The TLDs.', DomainTLDListResponse) },
    problems: ['pricing_unavailable', 'provider_error'],
    messages: { provider_error: 'Domain data could not be loaded' },
  },
  searchDomain: {
    ...plain,
    errorStyle: 'json',
    path: '/v1/domains/search',
    tag: 'Domains',
    summary: 'Whether a domain is available, and its prices for one year',
    description:
      'A domain is available only on proof of its registry. If the registry does not answer, the response is 502: ask again later.',
    query: z.object({
      domain: z.string().meta({
        description: 'A full domain name, without protocol, path or query.',
        example: examples.searchDomain.domain,
      }),
    }),
    missing: { code: 'invalid_domain', message: 'Query parameter domain is required' },
    malformed: 'invalid_domain',
    limit: 'domains',
    hasUnicodeName: true,
    replies: { 200: json('Whether the domain is available, and its prices.', DomainSearchResponse) },
    problems: ['invalid_domain', 'tld_not_found', 'pricing_unavailable', 'provider_error'],
    messages: {
      invalid_domain: 'Query parameter domain is required',
      provider_error: 'Domain data could not be loaded',
    },
  },
  ...keyEndpoints,
  ...hostingEndpoints,
  ...activityEndpoints,
} as const satisfies Record<string, Endpoint>;

/** The operationId of an endpoint. */
export type EndpointName = keyof typeof endpoints;
