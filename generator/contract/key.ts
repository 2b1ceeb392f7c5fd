import { z } from 'zod';
import { Scope } from '#contract/api-keys.ts';
import { json, plain } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { object } from '#contract/primitives.ts';

const Limit = z.strictObject({
  requests_per_second: z.number().positive().describe('How many requests are added each second.'),
  burst: z.int().positive().describe('How many requests can be made at once.'),
});

/** An API key, as its holder sees it. */
export const KeyResponse = object(
  'KeyResponse',
  'An API key: what it may do, for which servers, and how often.',
  {
    id: z.string().describe('ID of the key: the part of its text after hk_. It is not secret.'),
    label: z.string().describe('The name that the operator gave the key.'),
    scopes: z.array(Scope).describe('What it may do; read_write includes read of the same name.'),
    servers: z.array(z.string()).describe('The servers that it opens, each as game: or vps: and the ID.'),
    created_at: z.iso.datetime().describe('When it was created, in UTC.'),
    expires_at: z.iso.datetime().nullable().describe('When it expires, in UTC; null if it does not.'),
    limits: z
      .strictObject({
        power: Limit.describe('Power actions and console commands.'),
        read: Limit.describe('All requests by GET that need the key.'),
      })
      .describe('The rate limits of the key. Each is a token bucket; RateLimit headers say what is left.'),
  },
  {
    id: 'AbCdEfGhIj01',
    label: 'Control panel of Example Ltd',
    scopes: ['vps-power:read_write', 'game-power:read_write', 'game-console:read', 'game-logs:read'],
    servers: ['vps:demo', 'game:demo'],
    created_at: '2026-03-01T12:00:00.000Z',
    expires_at: null,
    limits: { power: { requests_per_second: 1, burst: 5 }, read: { requests_per_second: 2, burst: 20 } },
  },
);

/** The operations on the API key itself. */
export const keyEndpoints = {
  getKey: {
    ...plain,
    errorStyle: 'json',
    path: '/v1/key',
    tag: 'Keys',
    summary: 'What this API key may do',
    description: 'Answers every key that is neither revoked nor expired, whatever its scopes. It never has the secret.',
    access: 'any_key',
    replies: { 200: json('The key of this request.', KeyResponse) },
  },
} as const satisfies Record<string, Endpoint>;
