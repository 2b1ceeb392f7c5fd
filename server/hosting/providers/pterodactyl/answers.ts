import { z } from 'zod';
import type { ProblemCode } from '#contract/problem.ts';
import { isLoopback } from '../../../upstream/address.ts';
import { ForeignNumber, parseJson, toProviderError } from '../../../upstream/client.ts';
import type { CallOutcome, ProviderError, Reply } from '../../../upstream/client.ts';

/** The identifiers of servers in a panel. */
export const refs = {
  kind: 'game',
  pattern: /^[\dA-Fa-f]{8}(?:(?:-[\dA-Fa-f]{4}){3}-[\dA-Fa-f]{12})?$/,
  meaning: 'the identifier of a server in the panel (8 hexadecimal digits, or the whole UUID)',
} as const;

/** Panels find a server by its UUID and by the first 8 digits, often in capitals too. */
export const toShortRef = (ref: string): string => (refs.pattern.test(ref) ? ref.slice(0, 8).toLowerCase() : ref);

const Fault = z.object({ code: z.string().regex(/^\w{1,64}$/), detail: z.string() });
const Failure = z.object({ errors: z.tuple([Fault], z.unknown()) });

/** Reads the code (the class of an exception) and the text of a panel's error; empty for a proxy's page. */
export function failureOf({ text }: Pick<Reply, 'text'>): { readonly code: string; readonly detail: string } {
  return parseJson(text, Failure)?.errors[0] ?? { code: '', detail: '' };
}

/** Classifies an error by the panel's code; undefined for a proxy's page. */
export function judgePanelError(error: Pick<Reply, 'status' | 'text'>, byStatus: CallOutcome): CallOutcome | undefined {
  const { code } = failureOf(error);
  if (code === 'ServerStateConflictException') return 'conflict';
  // The node refuses the panel's token, not the panel ours.
  if (code === 'DaemonConnectionException' && [401, 403].includes(error.status)) return 'server_error';
  return code === '' ? undefined : byStatus;
}

/** Returns true if the key lacks a permission on the server. */
export function isDenied(reply: Reply): boolean {
  const { code, detail } = failureOf(reply);
  // A wrong kind of key or a forbidden address is a mistake in our configuration.
  const isOurs = reply.status === 403 && code !== '' && !/application API key|IP address/i.test(detail);
  return isOurs && code !== 'DaemonConnectionException';
}

/** Messages for clients about a server that the panel has locked, by the panel's text. */
const conflicts: readonly (readonly [RegExp, string])[] = [
  [/suspended/i, 'The server is suspended by the panel'],
  [/installation/i, 'The server is not installed (yet)'],
  [/restoring/i, 'The server is being restored'],
  [/transferred/i, 'The server is being moved'],
  [/maintenance/i, "The server's node is in maintenance"],
];

/** Converts an error of a panel, or a proxy's page, to a ProviderError. */
export function toPanelError(reply: Reply, code?: ProblemCode): ProviderError {
  const { status } = reply;
  const failure = failureOf(reply);
  // The panel and proxies refuse a request before its call to the node; after other errors the node may have acted.
  const isRefused = status >= 300 && status < 500 && status !== 408;
  const isMaintenance = status === 503 && failure.code === 'HttpException';
  const isConflict = failure.code === 'ServerStateConflictException';
  const message = isConflict ? conflicts.find(([pattern]) => pattern.test(failure.detail))?.[1] : undefined;
  return toProviderError(reply, isRefused || isMaintenance ? 'refused' : 'unknown', { code, message });
}

/** The permissions of a user on a server: a list, or an object for users who also have a role (Pelican). */
export const Permissions = z.array(z.string()).or(z.record(z.string(), z.string()).transform(Object.values<string>));

const readingPermission = /^(?:websocket\.connect|admin\.websocket\.\w+|[\w.-]+\.(?:read|read-content|download))$/;

/** Checks whether permissions allow console commands, power actions or other changes. */
export function canWrite(permissions: readonly string[]): boolean {
  return !permissions.every((permission) => readingPermission.test(permission));
}

/** A token with its lifetime, the address of the socket, and the panel's own address for the Origin. */
export type SocketToken = Exclude<ReturnType<typeof parseToken>, string | undefined>;

const TokenReply = z.object({ data: z.object({ token: z.string().min(1), socket: z.string() }) });
const TokenClaims = z.object({
  exp: ForeignNumber.optional().catch(undefined),
  iat: ForeignNumber.optional().catch(undefined),
  /** Sent as the Origin, so printable. */
  iss: z
    .string()
    .regex(/^[\x21-\x7e]{1,500}$/)
    .optional()
    .catch(undefined),
  permissions: Permissions,
});

/** The lifetime of a token, fixed in the code of panels. */
const defaultLifeMs = 600_000;

/** Parses a token; returns a text about a token that must not be used, and undefined for another reply. */
export function parseToken(reply: Reply) {
  const answer = reply.status === 200 ? parseJson(reply.text, TokenReply)?.data : undefined;
  if (!answer) return undefined;
  const { token, socket } = answer;
  const claims = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'), TokenClaims);
  if (!claims) return 'a token whose permissions cannot be read';
  const { exp = Number.NaN, iat = Date.now() / 1000, iss: issuer, permissions } = claims;
  if (canWrite(permissions)) return 'a token that may do more than read';
  if (!isSocketUrl(socket)) return 'a socket that is not wss://';
  // By the clock of the panel, which may differ from ours.
  const lifeMs = exp > iat ? (exp - iat) * 1000 : defaultLifeMs;
  return { url: socket, token, issuer, lifeMs };
}

function isSocketUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'wss:' || (url.protocol === 'ws:' && isLoopback(url.hostname));
}
