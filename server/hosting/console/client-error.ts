import type { CommandRefusal } from '#contract/console-stream.ts';
import { problems } from '#contract/problem.ts';
import { Problem } from '../../problem.ts';
import { ProviderError } from '../../upstream/error.ts';
import { offline } from '../../upstream/reply.ts';

/** Whether the message of an error was written for clients. */
export function isForClients(error: unknown): error is ProviderError | Problem {
  return error instanceof ProviderError || error instanceof Problem;
}

/** The text of an error for clients. */
export function toClientText(error: unknown): string {
  return isForClients(error) ? error.message : problems.internal_error.message;
}

/** Errors of a key or server that may not send commands. */
const denials = new Set<string>(['unauthorized', 'forbidden', 'insufficient_scope', 'provider_permission_denied']);

/** The code of a command that failed. */
export function toRefusalCode(error: unknown): CommandRefusal {
  if (!isForClients(error)) return 'failed';
  if (error.message === offline) return 'offline';
  if (error.code === 'rate_limited') return 'rate_limited';
  return denials.has(error.code) ? 'not_permitted' : 'failed';
}
