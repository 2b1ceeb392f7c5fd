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
  messages: { forbidden: 'You do not have access to this VPS', provider_error: 'Failed to send the power action' },
} as const;
const noGameServer = 'You do not have access to this game server';
const gamePower = {
  ...hosting,
  access: { kind: 'game', scope: 'game-power:read_write' },
  replies: { 200: json('The action was accepted; the game server may need more time.', GamePowerResponse) },
  problems: ['provider_error'],
  messages: { forbidden: noGameServer, provider_error: 'Failed to send the power action' },
} as const;
const gameConsole = {
  ...hosting,
  messages: { forbidden: noGameServer, provider_error: 'The console or log request failed' },
} as const;
/** Only `true` confirms; any other text is a missing confirmation, not an invalid parameter. */
const force = z.string().meta({ type: 'boolean', description: 'Must be true to confirm the action.' });

/** All operations of the API; routing, request checks and the OpenAPI document use this table. */
export const endpoints = {
  getHealth: {
    ...plain,
    path: '/health',
    summary: 'Whether the process is running',
    replies: { 200: json('The process is running.', HealthResponse) },
  },
  getReady: {
    ...plain,
    path: '/ready',
    summary: 'Whether this instance accepts traffic',
    replies: {
      200: json('It accepts traffic.', ReadyResponse),
      503: json('It is shutting down or cannot serve requests yet.', ReadyResponse, { status: 'draining' }),
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
      200: json('The state, with the names of the affected components.', StatusResponse),
      503: json('The state is unknown.', StatusErrorResponse),
    },
  },
  getStatusWidget: {
    ...file,
    path: '/v1/service-status.js',
    summary: 'The status widget: a script that shows the status on any site',
    replies: { 200: { description: 'The script.', mediaType: 'application/javascript' } },
  },
  getStatusWidgetVersion: {
    ...file,
    path: '/v1/service-status.{version}.js',
    summary: 'One version of the status widget; its bytes never change',
    replies: { 200: { description: 'The script.', mediaType: 'application/javascript' } },
    problems: ['not_found'],
  },
  getArticleStyle: {
    ...file,
    path: '/v1/article.css',
    summary: 'The style of the html of articles, light and dark, for an element of class markdown-body',
    replies: { 200: { description: 'The style sheet.', mediaType: 'text/css' } },
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
    summary: 'A blog article, by its path or a former path',
    query: z.object({ path: z.string().describe('Full path of the article, starting with /blog/.') }),
    missing: { code: 'path_required' },
    replies: { 200: json('The article.', ContentArticle) },
    problems: ['path_required', 'validation_error', 'article_not_found'],
  },
  listKnowledgeBaseArticles: {
    ...content,
    path: '/v1/kb/list',
    summary: 'Knowledge base articles, sorted by title',
    query: z.object({
      category: z.string().optional().describe('The slug of one category: the path segment after /knowledgebase/.'),
    }),
    replies: { 200: json('The list; it is empty if the category does not exist.', KnowledgeBaseList) },
    problems: ['validation_error'],
  },
  getKnowledgeBaseArticle: {
    ...content,
    path: '/v1/kb/article',
    summary: 'A knowledge base article, by its path or a former path',
    query: z.object({ path: z.string().describe('Full path of the article, starting with /knowledgebase/.') }),
    missing: { code: 'path_required' },
    replies: { 200: json('The article.', KnowledgeBaseArticle) },
    problems: ['path_required', 'validation_error', 'article_not_found'],
  },
  sendFeedback: {
    ...plain,
    method: 'POST',
    path: '/v1/kb/feedback',
    summary: 'Report whether a knowledge base article was helpful',
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
    summary: 'All plans, by service and by game',
    replies: {
      200: json('The plan catalog.', PlanCatalogResponse),
    },
  },
  getOpenApi: {
    ...file,
    path: '/v1/openapi.json',
    summary: 'The OpenAPI description of this API',
    replies: { 200: json('An OpenAPI 3.1 document.', z.record(z.string(), z.unknown()), { openapi: '3.1.1' }) },
  },
  getMedia: {
    ...file,
    path: '/media/{path*}',
    summary: 'An image or other media file of an article',
    replies: { 200: { description: 'The file.', mediaType: '*/*' } },
    problems: ['media_not_found'],
  },
  listDomainTlds: {
    ...plain,
    stored: 'memory',
    errorStyle: 'json',
    path: '/v1/domains/tlds',
    summary: 'All TLDs for sale, with their prices for one year',
    replies: { 200: json('The TLDs.', DomainTLDListResponse) },
    problems: ['pricing_unavailable', 'provider_error'],
    messages: { provider_error: 'Domain data could not be loaded' },
  },
  searchDomain: {
    ...plain,
    errorStyle: 'json',
    path: '/v1/domains/search',
    summary: 'Whether a domain is available, and its prices for one year',
    query: z.object({ domain: z.string().describe('A full domain name, without protocol, path or query.') }),
    missing: { code: 'invalid_domain', message: 'Query parameter domain is required' },
    malformed: 'invalid_domain',
    limit: 'domains',
    replies: {
      200: {
        ...json('Whether the domain is available, and its prices.', DomainSearchResponse),
        headers: ['X-Domain-Unicode'],
      },
    },
    problems: ['invalid_domain', 'tld_not_found', 'pricing_unavailable', 'provider_error'],
    messages: { provider_error: 'Domain data could not be loaded' },
  },
  startVps: { ...vpsPower, path: '/v1/hosting/cloud/vps-custom/{id}/start', summary: 'Start a VPS' },
  stopVps: { ...vpsPower, path: '/v1/hosting/cloud/vps-custom/{id}/stop', summary: 'Stop a VPS' },
  resetVps: {
    ...vpsPower,
    path: '/v1/hosting/cloud/vps-custom/{id}/reset',
    summary: 'Reset a VPS (power cycle); requires force=true in the query and in the body',
    query: z.object({ force }),
    body: { schema: ForceRequest, required: true },
    missing: { code: 'confirmation_required' },
    problems: [...vpsPower.problems, 'confirmation_required', 'validation_error'],
    messages: { ...vpsPower.messages, confirmation_required: 'Reset requires force=true' },
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
    summary: 'Kill a game server; requires force=true in the query or in the body',
    query: z.object({ force: force.optional() }),
    body: { schema: ForceRequest, required: false },
    problems: [...gamePower.problems, 'confirmation_required', 'validation_error'],
    messages: { ...gamePower.messages, confirmation_required: 'Kill requires force=true' },
  },
  openGameConsole: {
    ...gameConsole,
    method: 'GET',
    path: '/v1/hosting/game/console/{server_id}/websocket',
    summary: 'Get the address of a console stream and a token for it',
    access: { kind: 'game', scope: 'game-console:read' },
    replies: { 200: json('The address and the short-lived token.', GameConsoleWebsocketResponse) },
    problems: ['provider_error'],
  },
  sendGameCommand: {
    ...gameConsole,
    path: '/v1/hosting/game/console/{server_id}/command',
    summary: 'Send a console command',
    access: { kind: 'game', scope: 'game-console:read_write' },
    body: { schema: GameConsoleCommandRequest, required: true },
    missing: { code: 'validation_error', message: 'A JSON body with the field command is required' },
    replies: { 200: json('The command was sent.', GameConsoleCommandResponse) },
    problems: ['validation_error', 'provider_permission_denied', 'provider_error'],
  },
  getLatestGameLog: {
    ...gameConsole,
    method: 'GET',
    path: '/v1/hosting/game/logs/{server_id}/latest',
    summary: 'The latest log of a game server',
    access: { kind: 'game', scope: 'game-logs:read' },
    replies: { 200: json('The log.', GameLatestLogResponse) },
    problems: ['provider_error'],
  },
} as const satisfies Record<string, Endpoint>;

/** The operationId of an endpoint. */
export type EndpointName = keyof typeof endpoints;
