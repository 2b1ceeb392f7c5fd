import type { z } from 'zod';
import { serverActions } from '#contract/api-keys.ts';
import {
  ForceRequest,
  GameConsoleCommandRequest,
  GameConsoleCommandResponse,
  GameConsoleWebsocketResponse,
  GameLatestLogResponse,
  GamePowerResponse,
  GameStateResponse,
  HostingActionResponse,
  HostingActivityResponse,
  HostingServersResponse,
  KeyResponse,
  VPSPowerResponse,
  VPSStateResponse,
} from '#contract/hosting.ts';
import {
  AuthorItem,
  BlogIndexItem,
  CategoryItem,
  ContentArticle,
  ContentItem,
  KBFeedbackRequest,
  KnowledgeBaseArticle,
  KnowledgeBaseIndexItem,
  KnowledgeBaseSummary,
  SuccessResponse,
} from '#contract/articles.ts';
import { DomainPricing, DomainSearchResponse, DomainTLD, DomainTLDListResponse } from '#contract/domains.ts';
import { OpenApiDocument } from '#contract/docs.ts';
import { CatalogPlan, GameCatalog, PlanCatalogResponse, ServiceCatalog } from '#contract/plans.ts';
import { ErrorResponse } from '#contract/problem.ts';
import { KnowledgeBaseSearch, processTerm } from '#contract/search.ts';
import { HealthResponse, InfoResponse, ReadyResponse, StatusErrorResponse, StatusResponse } from '#contract/status.ts';

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** A shape of the API: its schema, a complete value, and its optional fields, as `field.0.field`. */
export interface Shape {
  readonly name: string;
  readonly schema: z.ZodObject;
  readonly valid: Fields;
  readonly optional?: readonly string[];
  /** Fields whose value is a map with any keys. */
  readonly maps?: readonly string[];
  /** The paths of values that may be null. */
  readonly nullable?: readonly string[];
}

const plan = { name: 'Small', ram: 0.5, storage: 10, price: 2.49, orderLink: 'https://a.example/1', soldOut: false };
const catalog = { name: 'Web hosting', soldOut: true, soldOutMessage: '', plans: [plan] };
const item = {
  title: 'A title',
  description: 'What it says.',
  path: '/blog/company-news/first',
  category: 'Company news',
  date: '2026-02-28',
  author: 'Marit de Wit',
  readTime: '3 min read',
  cover: '/media/covers/first.svg',
};
const summary = {
  title: 'Connect with SSH',
  description: 'How it is done.',
  path: '/knowledgebase/vps/ssh',
  category: 'VPS',
};
const text = { body: 'Some *text*.\n', html: '<p>Some <em>text</em>.</p>' };
const pricing = { currency: 'EUR', term: 1, period: 'year', register: 9.5, renew: 10, transfer: 0 };
const order = 'https://clients.example.com/domain?name=example.com';
const tld = { tld: '.co.uk', pricing, order_url: order };
const power = { success: true, status: 'requested', message: 'Start action sent' };

const nullableInIndex = ['previous', 'next', 'updated'];
const indexItemOf = (category: string) => ({
  path: `${category}/a`,
  previous: `${category}/b`,
  next: `${category}/c`,
  related: [`${category}/b`],
  tags: ['linux'],
  updated: '2026-02-28',
});
const links = Object.fromEntries(serverActions.map((action) => [action, `/v1/${action}`]));
const action = {
  success: true,
  request_id: 'order-4711',
  action: 'start',
  server: 'game:7',
  status: 'accepted',
  requested_at: '2026-03-01T12:00:00.000Z',
  finished_at: '2026-03-01T12:00:00.412Z',
};

const shape = (
  schemas: Readonly<Record<string, z.ZodObject>>,
  valid: Fields,
  more: Pick<Shape, 'optional' | 'maps' | 'nullable'> = {},
): Shape[] => Object.entries(schemas).map(([name, schema]) => ({ name, schema, valid, ...more }));

/** Every shape of the API, in the order of the specification. */
export const shapes: readonly Shape[] = [
  shape({ CatalogPlan }, plan),
  shape({ ServiceCatalog, GameCatalog }, catalog),
  shape(
    { PlanCatalogResponse },
    { services: { web: catalog }, games: { minecraft: catalog } },
    { maps: ['services', 'games'] },
  ),
  shape({ ContentItem }, item),
  shape({ ContentArticle }, { ...item, ...text }),
  shape({ KnowledgeBaseSummary }, summary),
  shape({ KnowledgeBaseArticle }, { ...summary, ...text }),
  shape({ CategoryItem }, { slug: 'vps', name: 'VPS', count: 4 }),
  shape({ BlogIndexItem }, indexItemOf('/blog/news'), { nullable: nullableInIndex }),
  shape({ KnowledgeBaseIndexItem }, indexItemOf('/knowledgebase/vps'), { nullable: nullableInIndex }),
  shape(
    { AuthorItem },
    { name: 'Marit de Wit', picture: '/media/authors/marit.svg', url: 'https://a.example/marit', count: 2 },
    { nullable: ['picture', 'url'] },
  ),
  shape({ DomainPricing }, pricing),
  shape({ DomainTLD }, tld, { optional: ['order_url'] }),
  shape({ DomainTLDListResponse }, { success: true, tlds: [{ tld: '.com', pricing }] }),
  shape(
    { DomainSearchResponse },
    { success: true, domain: 'example.co.uk', available: false, ...tld },
    { optional: ['order_url'] },
  ),
  shape({ ErrorResponse }, { success: false, error: 'tld_not_found', message: 'The TLD is not in the public catalog' }),
  shape({ SuccessResponse }, { success: true }),
  shape(
    { StatusResponse },
    { status: 'disrupted', maintenance: ['Node 1'], disrupted: [] },
    { optional: ['maintenance', 'disrupted'] },
  ),
  shape({ StatusErrorResponse }, { status: 'error' }),
  shape({ HealthResponse }, { status: 'healthy', version: '1.4.0' }),
  shape({ ReadyResponse }, { status: 'ready' }),
  shape({ InfoResponse }, { version: '1.4.0' }),
  shape({ ForceRequest }, { force: true }),
  shape({ VPSPowerResponse }, { ...power, action: 'start', vps_id: '7' }),
  shape({ GamePowerResponse }, { ...power, action: 'start', server_id: '7' }),
  shape({ GameConsoleCommandRequest }, { command: 'list' }),
  shape({ GameConsoleCommandResponse }, { success: true, server_id: '7', status: 'sent' }),
  shape(
    { GameConsoleWebsocketResponse },
    { success: true, server_id: '7', websocket: { socket_url: 'wss://api.example.com/stream', token: 'x' } },
  ),
  shape({ GameLatestLogResponse }, { success: true, server_id: '7', empty: true, content: '' }),
  shape({ VPSStateResponse }, { success: true, vps_id: '7', state: 'unknown', checked_at: '2026-03-01T12:00:00.000Z' }),
  shape({ GameStateResponse }, { success: true, server_id: '7', state: 'running', checked_at: '2026-03-01T12:00:00Z' }),
  shape(
    { KeyResponse },
    {
      id: 'AbCdEfGhIj01',
      label: '',
      scopes: ['game-power:read'],
      servers: ['game:7'],
      created_at: '2026-03-01T12:00:00Z',
      expires_at: '2027-03-01T12:00:00Z',
      limits: { power: { requests_per_second: 1, burst: 5 }, read: { requests_per_second: 2, burst: 20 } },
    },
    { nullable: ['expires_at'] },
  ),
  shape({ HostingActionResponse }, action, { nullable: ['finished_at'] }),
  shape(
    { HostingActivityResponse },
    { success: true, activity: [action], next: 'cursor' },
    { nullable: ['activity.0.finished_at', 'next'] },
  ),
  shape(
    { HostingServersResponse },
    {
      success: true,
      servers: [{ server: 'game:demo', id: 'demo', kind: 'game', actions: ['state', 'kill'], links }],
      next: 'cursor',
    },
    {
      nullable: ['next'],
      optional: ['restart', 'kill', 'reset', 'console', 'command', 'log'].map((name) => `servers.0.links.${name}`),
    },
  ),
  shape(
    { KBFeedbackRequest },
    { helpful: false, title: 'Connect with SSH', slug: '/knowledgebase/vps/ssh' },
    { optional: ['title', 'slug'] },
  ),
  shape(
    { KnowledgeBaseSearch },
    {
      minisearch: '7.2.0',
      hasText: false,
      processTerm,
      options: {
        idField: 'path',
        fields: ['title'],
        storeFields: ['title'],
        searchOptions: { boost: { title: 4, tags: 3, headings: 2, description: 2 }, prefix: true, fuzzy: 0.2 },
      },
      index: {},
    },
    { maps: ['index'] },
  ),
  shape(
    { OpenApiDocument },
    { openapi: '3.1.1', info: {}, servers: [{}], tags: [{}], paths: {}, components: {} },
    { maps: ['info', 'servers.0', 'tags.0', 'paths', 'components'] },
  ),
].flat();
