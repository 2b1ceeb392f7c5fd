import { z } from 'zod';
import { childKeyLimits, scopes, serverPattern } from '#contract/api-keys.ts';
import { describeConfirmation, json } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { KeyResponse, instant, keyed } from '#contract/hosting.ts';
import { named, object, success, text } from '#contract/primitives.ts';

const { limits: _, ...ownKey } = KeyResponse.shape;
const time = instant.nullable();
const revoked_at = time.describe('Time of revocation, in UTC; null if the key is not revoked.');
const last_used_at = time.describe('Minute of the last use; null if the key was never used.');
/** The fields of a key that its parent or an operator reads. */
export const keyFields = { ...ownKey, revoked_at, last_used_at };
const shown = text('Text of the key, shown only once.');
const ofNetworks = 'IP addresses and networks that may use the key; all if empty.';
const child = { ...keyFields, networks: z.array(z.string()).describe(ofNetworks) };
const made = { success, ...child, key: shown };

const request = { label: 'Bot', scopes: ['game-power:read_write'], servers: ['game:demo'] };
const times = { created_at: '2026-03-01T12:00:00.000Z', expires_at: null, revoked_at: null, last_used_at: null };
const sample = { id: 'KlMnOpQrSt23', ...request, ...times, networks: [] };
const created = { success: true, ...sample, key: 'hk_KlMnOpQrSt23_...' };
const ChildKey = object('ChildKey', 'A child key, with the rights that its parent has now.', child);
const keys = z.array(ChildKey).describe('The keys, oldest first.');
const listed = { success: true, keys: [sample] };
const ListReply = object('ChildKeysResponse', 'The child keys of an API key.', { success, keys }, listed);
const ChildReply = object('ChildKeyResponse', 'A new child key, with its text.', made, created);
const rule = 'must be a line of 1 to 100 characters without the text of a key';
const label = /^(?!.*h[ko]_[A-Za-z0-9]{12}_)[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,100}$/u;
const scope = named('Scope', 'A scope of API keys.', z.enum(scopes));
const server = text('The server.', serverPattern, 'must be vps:<id> or game:<id>');
const addresses = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const isNetwork = (one: string): boolean => addresses.safeParse(one).success;
const network = z.string().refine(isNetwork, 'must be an IP address, or a network such as 10.0.0.0/8');
/** The end of a new key. */
export const future = instant.refine((end) => !(Date.parse(end) <= Date.now()), 'is in the past');
const permissions = {
  label: text(`Name of the key; ${rule}.`, label, rule),
  scopes: z.array(scope).min(1).describe('Scopes of the key, which your key must have.'),
  servers: z.array(server).min(1).max(1000).optional().describe('Servers of the key; by default, all of your key.'),
  expires_at: future.optional().describe('Time of expiry, in UTC; by default, the key does not expire.'),
  networks: z.array(network).max(20).optional().describe(ofNetworks),
};
const ChildRequest = object('ChildKeyRequest', 'The permissions of a new child key.', permissions, request);

const seconds = z.int().min(0).max(604_800).optional();
/** The fields of a request for a new secret, and of its reply. */
export const rotation = { overlap_seconds: seconds.describe('Seconds until the old secret ends; by default 0.') };
const until = time.describe('End of the old secret, in UTC; null if it has ended.');
export const rotated = { success, id: ownKey.id, key: shown, old_valid_until: until };
const rotatedSample = { success: true, id: 'AbCdEfGhIj01', key: 'hk_AbCdEfGhIj01_...', old_valid_until: null };
const overlap = { overlap_seconds: 3600 };
const RotationRequest = object('KeyRotationRequest', 'How long the old secret stays valid.', rotation, overlap);
const RotationReply = object('KeyRotationResponse', 'The new text of an API key.', rotated, rotatedSample);
const gone = { success: true, id: 'AbCdEfGhIj01' };
const RevocationReply = object('KeyRevocationResponse', 'The key is revoked.', { success, id: ownKey.id }, gone);

const managing = { ...keyed, access: 'managing_key' } as const;
const changing = { ...managing, method: 'POST', problems: ['validation_error', 'conflict'] } as const;
const { active, recent, days } = childKeyLimits;
const most = `A key may have ${active} active child keys, and create ${recent} in ${days} days`;
const confirmation = { action: 'Revoke', needs: 'query' } as const;

/** The operations of keys on themselves and on their child keys. */
export const keyEntries = {
  listChildKeys: {
    ...managing,
    path: '/v1/keys',
    summary: 'List the child keys of this key',
    description: `Lists the child keys of this key. Ended ones are removed after ${days} days.`,
    replies: { 200: json('The child keys.', ListReply) },
  },
  createChildKey: {
    ...changing,
    path: '/v1/keys',
    summary: 'Create a child key',
    description: `Creates a child key, which ends with the secret that creates it. ${most}.`,
    body: { schema: ChildRequest, required: true },
    replies: { 201: json('The key, with its text.', ChildReply) },
    messages: { validation_error: 'A JSON body is required', conflict: most },
  },
  revokeChildKey: {
    ...managing,
    method: 'DELETE',
    path: '/v1/keys/{key_id}',
    summary: 'Revoke a child key',
    description: 'Revokes a child key for good.',
    replies: { 200: json('The key is revoked.', RevocationReply) },
    problems: ['not_found'],
    messages: { not_found: 'This API key has no child key with this ID' },
  },
  rotateKey: {
    ...changing,
    path: '/v1/key/rotate',
    summary: 'Rotate the secret of this key',
    description: 'Gives the key a new secret. The child keys of the old secret end with it.',
    body: { schema: RotationRequest, required: false },
    replies: { 200: json('The new text.', RotationReply) },
  },
  revokeKey: {
    ...changing,
    path: '/v1/key/revoke',
    summary: 'Revoke this key; requires force=true in the query',
    description: 'Revokes the key and its child keys for good. Send force=true in the query.',
    access: 'current_key',
    query: z.object({
      force: z.string().meta({ type: 'boolean', description: 'Must be true to end the key.', example: true }),
    }),
    confirmation,
    replies: { 200: json('The key is revoked.', RevocationReply) },
    problems: ['confirmation_required'],
    messages: { confirmation_required: describeConfirmation(confirmation) },
  },
} as const satisfies Record<string, Endpoint>;
