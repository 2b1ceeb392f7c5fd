import { z } from 'zod';
import { ContentArticle, ContentList } from '#contract/blog.ts';
import { DomainSearchResponse, DomainTLDListResponse } from '#contract/domains.ts';
import { json } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import {
  GameConsoleCommandRequest,
  GameConsoleCommandResponse,
  GameConsoleWebsocketResponse,
  GameLatestLogResponse,
  GamePowerResponse,
} from '#contract/game.ts';
import { KBFeedbackRequest, SuccessResponse } from '#contract/feedback.ts';
import { KnowledgeBaseArticle, KnowledgeBaseList } from '#contract/knowledge-base.ts';
import { PlanCatalogResponse } from '#contract/plans.ts';
import { ForceRequest, VPSPowerResponse } from '#contract/vps.ts';
import { HealthResponse, InfoResponse, ReadyResponse, StatusErrorResponse, StatusResponse } from '#contract/status.ts';

const plain = { method: 'GET', stored: false, errorStyle: 'text', problems: [], failure: 'internal_error' } as const;
const file = { ...plain, stored: 'file' } as const;
const content = { ...file, failure: 'content_unavailable' } as const;
const hosting = { ...plain, method: 'POST', errorStyle: 'json' } as const;
const vpsPower = {
  ...hosting,
  access: { kind: 'vps', scope: 'vps-power:read_write' },
  replies: { 200: json('The action was accepted; the VPS may need more time.', VPSPowerResponse) },
  problems: ['server_unavailable', 'provider_error'],
} as const;
const gamePower = {
  ...hosting,
  access: { kind: 'game', scope: 'game-power:read_write' },
  replies: { 200: json('The action was accepted; the game server may need more time.', GamePowerResponse) },
  problems: ['provider_error'],
} as const;
/** The word true; whatever else it says is no confirmation, and not a mistake. */
const force = z.string().meta({ type: 'boolean', description: 'Must be true to confirm the action.' });

/** Every operation that is served, and nothing else: routing, checks and OpenAPI follow this page. */
export const endpoints = {
  getHealth: {
    ...plain,
    path: '/health',
    summary: 'Whether the process lives',
    replies: { 200: json('It lives.', HealthResponse) },
  },
  getReady: {
    ...plain,
    path: '/ready',
    summary: 'Whether this instance wants traffic',
    replies: {
      200: json('It does.', ReadyResponse),
      503: json('It is about to stop, or not ready yet.', ReadyResponse, { status: 'draining' }),
    },
  },
  getInfo: {
    ...plain,
    path: '/v1/info',
    summary: 'The running version',
    replies: { 200: json('The running version.', InfoResponse) },
  },
  getStatus: {
    ...plain,
    stored: 'memory',
    path: '/v1/status',
    summary: 'Whether the platform is up, under maintenance or disrupted',
    replies: {
      200: json('Its state, with the names of the parts concerned.', StatusResponse),
      503: json('It is not known.', StatusErrorResponse),
    },
  },
  getStatusWidget: {
    ...file,
    path: '/v1/service-status.js',
    summary: 'A script that shows the status on any site',
    replies: { 200: { description: 'The script.', mediaType: 'application/javascript' } },
  },
  getStatusWidgetVersion: {
    ...file,
    path: '/v1/service-status.{version}.js',
    summary: 'One version of it, which never changes',
    replies: { 200: { description: 'The script.', mediaType: 'application/javascript' } },
    problems: ['not_found'],
  },
  listBlogArticles: {
    ...content,
    path: '/v1/blog/list',
    summary: 'All blog articles, newest first',
    replies: { 200: json('The list.', ContentList) },
  },
  getBlogArticle: {
    ...content,
    path: '/v1/blog/article',
    summary: 'One blog article, also by a former path',
    query: z.object({ path: z.string().describe('Full path of the article, beginning with /blog/.') }),
    missing: { code: 'path_required' },
    replies: { 200: json('The article.', ContentArticle) },
    problems: ['path_required', 'validation_error', 'article_not_found'],
  },
  listKnowledgeBaseArticles: {
    ...content,
    path: '/v1/kb/list',
    summary: 'Knowledge base articles, by title',
    query: z.object({
      category: z.string().optional().describe('Only this category: the segment after /knowledgebase/.'),
    }),
    replies: { 200: json('The list; empty for a category that does not exist.', KnowledgeBaseList) },
    problems: ['validation_error'],
  },
  getKnowledgeBaseArticle: {
    ...content,
    path: '/v1/kb/article',
    summary: 'One knowledge base article, also by a former path',
    query: z.object({ path: z.string().describe('Full path of the article, beginning with /knowledgebase/.') }),
    missing: { code: 'path_required' },
    replies: { 200: json('The article.', KnowledgeBaseArticle) },
    problems: ['path_required', 'validation_error', 'article_not_found'],
  },
  sendFeedback: {
    ...plain,
    method: 'POST',
    path: '/v1/kb/feedback',
    summary: 'Say whether a knowledge base article helped',
    body: { schema: KBFeedbackRequest, required: true, invalid: 'invalid_feedback', strict: true },
    missing: { code: 'invalid_feedback' },
    limit: 'feedback',
    replies: {
      200: json('It was counted, and told to the team.', SuccessResponse),
      202: json('It was counted.', SuccessResponse),
    },
    problems: ['invalid_feedback', 'unsupported_media_type', 'feedback_not_built', 'feedback_not_delivered'],
  },
  getPlans: {
    ...file,
    path: '/v1/plans',
    summary: 'All plans, by service and by game',
    replies: {
      200: json('The plan catalog.', PlanCatalogResponse),
    },
  },
  getOpenApi: {
    ...file,
    path: '/v1/openapi.json',
    summary: 'This description',
    replies: { 200: json('An OpenAPI 3.1 document.', z.record(z.string(), z.unknown()), { openapi: '3.1.1' }) },
  },
  getMedia: {
    ...file,
    path: '/media/{path*}',
    summary: 'An image or another file that articles show',
    replies: { 200: { description: 'The file.', mediaType: '*/*' } },
    problems: ['media_not_found'],
  },
  listDomainTlds: {
    ...plain,
    stored: 'memory',
    errorStyle: 'json',
    path: '/v1/domains/tlds',
    summary: 'All TLDs on sale, with their prices for one year',
    replies: { 200: json('The TLDs.', DomainTLDListResponse) },
    problems: ['pricing_unavailable', 'provider_error'],
  },
  searchDomain: {
    ...plain,
    errorStyle: 'json',
    path: '/v1/domains/search',
    summary: 'Whether a domain can be registered, and its prices for one year',
    query: z.object({ domain: z.string().describe('A full domain name, without protocol, path or query.') }),
    missing: { code: 'invalid_domain', message: 'Query parameter domain is required' },
    malformed: 'invalid_domain',
    limit: 'domains',
    replies: { 200: json('Proved to be free, or taken.', DomainSearchResponse) },
    problems: ['invalid_domain', 'tld_not_found', 'pricing_unavailable', 'provider_error'],
  },
  startVps: { ...vpsPower, path: '/v1/hosting/cloud/vps-custom/{id}/start', summary: 'Start a VPS' },
  stopVps: { ...vpsPower, path: '/v1/hosting/cloud/vps-custom/{id}/stop', summary: 'Stop a VPS' },
  resetVps: {
    ...vpsPower,
    path: '/v1/hosting/cloud/vps-custom/{id}/reset',
    summary: 'Cut the power of a VPS and start it again; confirmed by the query and by the body',
    query: z.object({ force }),
    body: { schema: ForceRequest, required: true },
    missing: { code: 'confirmation_required', message: 'Reset requires force=true' },
    problems: [...vpsPower.problems, 'confirmation_required', 'validation_error'],
  },
  startGameServer: { ...gamePower, path: '/v1/hosting/game/power/{server_id}/start', summary: 'Start a game server' },
  stopGameServer: { ...gamePower, path: '/v1/hosting/game/power/{server_id}/stop', summary: 'Stop a game server' },
  restartGameServer: {
    ...gamePower,
    path: '/v1/hosting/game/power/{server_id}/restart',
    summary: 'Restart a game server',
  },
  killGameServer: {
    ...gamePower,
    path: '/v1/hosting/game/power/{server_id}/kill',
    summary: 'End a game server at once; confirmed by the query or by the body',
    query: z.object({ force: force.optional() }),
    body: { schema: ForceRequest, required: false },
    problems: [...gamePower.problems, 'confirmation_required', 'validation_error'],
  },
  openGameConsole: {
    ...hosting,
    method: 'GET',
    path: '/v1/hosting/game/console/{server_id}/websocket',
    summary: 'Where a console stream is opened, and the token that opens it',
    access: { kind: 'game', scope: 'game-console:read' },
    replies: { 200: json('The address and the token.', GameConsoleWebsocketResponse) },
    problems: ['provider_error'],
  },
  sendGameCommand: {
    ...hosting,
    path: '/v1/hosting/game/console/{server_id}/command',
    summary: 'Send a console command',
    access: { kind: 'game', scope: 'game-console:read_write' },
    body: { schema: GameConsoleCommandRequest, required: true },
    replies: { 200: json('The command was sent.', GameConsoleCommandResponse) },
    problems: ['validation_error', 'provider_permission_denied', 'provider_error'],
  },
  getLatestGameLog: {
    ...hosting,
    method: 'GET',
    path: '/v1/hosting/game/logs/{server_id}/latest',
    summary: 'The newest log of a game server',
    access: { kind: 'game', scope: 'game-logs:read' },
    replies: { 200: json('The log.', GameLatestLogResponse) },
    problems: ['provider_error'],
  },
} as const satisfies Record<string, Endpoint>;

/** The operationId of an endpoint. */
export type EndpointName = keyof typeof endpoints;
