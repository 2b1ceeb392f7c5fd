import { z } from 'zod';
import { serverActions, serverKinds } from '#contract/api-keys.ts';
import { json, plain } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { schemas, success, object } from '#contract/primitives.ts';

const Moment = z.iso.datetime();

/** What became of an action. */
export const HostingActionResponse = object(
  'HostingActionResponse',
  'What became of an action on a server.',
  {
    success,
    request_id: z.string().describe('The X-Request-Id of the request.'),
    action: z.string().describe('The action: start, stop, reset, restart, kill or command.'),
    server: z.string().describe('The server: game: or vps:, and its ID.'),
    status: z
      .enum(['running', 'accepted', 'failed', 'unknown'])
      .describe(
        'What became of it. running: it has no outcome yet. accepted: it was sent and accepted. failed: it had no effect. unknown: it may have had an effect.',
      ),
    requested_at: Moment.describe('When it was requested.'),
    finished_at: Moment.nullable().describe('When it ended; null while it runs, and if its end was lost.'),
  },
  {
    success: true,
    request_id: 'restart-4711',
    action: 'restart',
    server: 'game:demo',
    status: 'accepted',
    requested_at: '2026-03-01T12:00:00.000Z',
    finished_at: '2026-03-01T12:00:00.412Z',
  },
);

/** The actions of a key, a page of them. */
export const HostingActivityResponse = object(
  'HostingActivityResponse',
  'A page of the actions of an API key, newest first.',
  {
    success,
    activity: z.array(HostingActionResponse).describe('The actions, newest first.'),
    next: z.string().nullable().describe('The cursor of the next page, for after; null on the last page.'),
  },
  {
    success: true,
    activity: [schemas.get(HostingActionResponse)?.example],
    next: 'AZypRQoAjB86Up4HS22iyFHQ6XtPNu36NElQsGuF',
  },
);

const path = z.string().describe('The path of the endpoint.');

/** The servers of a key, a page of them. */
export const HostingServersResponse = object(
  'HostingServersResponse',
  'A page of the servers of an API key.',
  {
    success,
    servers: z
      .array(
        z.strictObject({
          server: z.string().describe('The server, as keys and actions name it: game: or vps:, and its ID.'),
          id: z.string().describe('The ID of the server in paths.'),
          kind: z.enum(serverKinds).describe('The kind of the server.'),
          actions: z
            .array(z.enum(serverActions))
            .describe('What this key may do now; nothing while the server is suspended or has been removed.'),
          links: z
            .strictObject({
              state: path,
              start: path,
              stop: path,
              restart: path.optional(),
              kill: path.optional(),
              reset: path.optional(),
              console: path.optional(),
              command: path.optional(),
              log: path.optional(),
            })
            .describe('The paths of the endpoints for this kind of server, by action.'),
        }),
      )
      .describe('The servers, in the order of the key.'),
    next: z.string().nullable().describe('The cursor of the next page, for after; null on the last page.'),
  },
  {
    success: true,
    servers: [
      {
        server: 'game:demo',
        id: 'demo',
        kind: 'game',
        actions: ['state', 'start', 'stop', 'restart', 'kill', 'console', 'command', 'log'],
        links: {
          state: '/v1/hosting/game/power/demo',
          start: '/v1/hosting/game/power/demo/start',
          stop: '/v1/hosting/game/power/demo/stop',
          restart: '/v1/hosting/game/power/demo/restart',
          kill: '/v1/hosting/game/power/demo/kill',
          console: '/v1/hosting/game/console/demo/websocket',
          command: '/v1/hosting/game/console/demo/command',
          log: '/v1/hosting/game/logs/demo/latest',
        },
      },
    ],
    next: null,
  },
);

/** The form of a cursor: 30 bytes in base64url. */
const Cursor = z.string().regex(/^[A-Za-z0-9_-]{40}$/, 'must be the next of an earlier page of this key');

/** From 1 to 100. */
const Limit = z.string().refine((text) => /^(?:100|[1-9]\d?)$/.test(text), 'must be a whole number from 1 to 100');

/** The parameters of a page; the example is the cursor after which the example of the response begins. */
const pageAfter = (example: string) => ({
  query: z.object({
    after: Cursor.meta({
      description: 'The next of the page before; without it, the list begins.',
      example,
    }).optional(),
    limit: Limit.meta({
      type: 'integer',
      minimum: 1,
      maximum: 100,
      default: 20,
      description: 'The length of a page.',
      example: 1,
    }).optional(),
  }),
  problems: ['validation_error'] as const,
  messages: { validation_error: 'Query parameter limit must be a whole number from 1 to 100' },
});

const keyed = { ...plain, errorStyle: 'json', tag: 'Activity', access: 'any_key' } as const;

/** The operations on the servers and actions of an API key, whatever its scopes. */
export const activityEndpoints = {
  listServers: {
    ...keyed,
    path: '/v1/hosting/servers',
    tag: 'Keys',
    summary: 'The servers of this key, what it may do with each, and the paths for it',
    description: 'In the order of the key. It asks no server: whether one runs is at the path state of its links.',
    ...pageAfter('T6oU6yr6Vq-HrsCEedFLoSbCafWB0wf1m6MqnS4w'),
    replies: { 200: json('A page of servers.', HostingServersResponse) },
  },
  getAction: {
    ...keyed,
    path: '/v1/hosting/actions/{request_id}',
    summary: 'What became of an action',
    description:
      'The newest action of this key with the request ID. A request that was refused before it became an action (400, 401, 403, 409, 422 or 429) has none.',
    replies: { 200: json('What became of the action.', HostingActionResponse) },
    problems: ['not_found'],
    messages: { not_found: 'This API key has no action with this request ID' },
  },
  listActivity: {
    ...keyed,
    path: '/v1/hosting/activity',
    summary: 'The actions of this key, newest first',
    description: 'Each action once, also if others are added while the pages are read.',
    ...pageAfter('AZypSZ3gD0wrfn0aTFWbDjqNX24sQU9xR3Qxocyj'),
    replies: { 200: json('A page of actions.', HostingActivityResponse) },
  },
} as const satisfies Record<string, Endpoint>;
