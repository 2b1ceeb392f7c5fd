import { z } from 'zod';

/** What an API key may be allowed to do; `read_write` includes `read` of the same name. */
export const scopes = [
  'vps-power:read',
  'vps-power:read_write',
  'game-power:read',
  'game-power:read_write',
  'game-console:read',
  'game-console:read_write',
  'game-logs:read',
] as const;

/** One permission of an API key. */
export const Scope = z.enum(scopes);
export type Scope = z.infer<typeof Scope>;

/** The kinds of server that customers have. */
export const serverKinds = ['vps', 'game'] as const;
export type ServerKind = (typeof serverKinds)[number];

/** A customer's server: its kind and id, so that a game server never opens a VPS of the same id. */
export const ServerName = z
  .string()
  .regex(/^(?:vps|game):[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'must be vps:<id> or game:<id>')
  .transform((name) => name as `${ServerKind}:${string}`);
export type ServerName = `${ServerKind}:${string}`;

/** Whether granted scopes allow what needs one. */
export function allows(granted: readonly Scope[], needed: Scope): boolean {
  return granted.includes(needed) || granted.includes(`${needed}_write` as Scope);
}

/** The text of an API key: 12 characters of id, 43 of secret (256 bits) and 6 of checksum, in base 62. */
export const apiKeyPattern = /^hk_([A-Za-z0-9]{12})_([A-Za-z0-9]{43})([A-Za-z0-9]{6})$/;
