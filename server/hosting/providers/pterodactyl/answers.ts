import { z } from 'zod';
import type { ProblemCode } from '#contract/problem.ts';
import { parseJson, toProviderError } from '../../../upstream/client.ts';
import type { CallOutcome, ProviderError, Reply } from '../../../upstream/client.ts';

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
