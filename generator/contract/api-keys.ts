import { z } from 'zod';

/** The permissions of API keys; `read_write` includes `read` of the same name. */
export const scopes = [
  'vps-power:read',
  'vps-power:read_write',
  'game-power:read',
  'game-power:read_write',
  'game-console:read',
  'game-console:read_write',
  'game-logs:read',
] as const;

export const Scope = z.enum(scopes);
export type Scope = z.infer<typeof Scope>;

/** The actions on a server; each has its own endpoint. */
export const serverActions = [
  'state',
  'start',
  'stop',
  'restart',
  'kill',
  'reset',
  'console',
  'command',
  'log',
] as const;
export type ServerAction = (typeof serverActions)[number];

export const serverKinds = ['vps', 'game'] as const;
export type ServerKind = (typeof serverKinds)[number];

export const serverPattern = /^(?:vps|game):[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The name of a server: kind and ID, because a game server and a VPS may have the same ID. */
export const ServerName = z
  .string()
  .regex(serverPattern, 'must be vps:<id> or game:<id>')
  .transform((name) => name as `${ServerKind}:${string}`);
export type ServerName = `${ServerKind}:${string}`;

export function kindOf(server: ServerName): ServerKind {
  return server.startsWith('vps:') ? 'vps' : 'game';
}

/** Checks whether granted scopes include a required scope. */
export function allows(granted: readonly Scope[], required: Scope): boolean {
  return granted.includes(required) || granted.includes(`${required}_write` as Scope);
}

/** The format of an API key (hk) or an operator token (ho): 12 characters of ID, 43 of secret (256 bits) and 6 of checksum, in base 62. */
export const apiKeyPattern = /^(h[ko])_([A-Za-z0-9]{12})_([A-Za-z0-9]{43})([A-Za-z0-9]{6})$/;

/** How many child keys a key may have: active at once, and made in some days, after which ended ones are removed. */
export const childKeyLimits = { active: 50, recent: 200, days: 30 };
