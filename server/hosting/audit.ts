import { randomUUID } from 'node:crypto';
import type { Caller } from '../http/handle.ts';
import { Problem } from '../problem.ts';
import type { AuditEntry, Store } from '../store/types.ts';
import { ProviderError } from '../upstream/error.ts';

/** An action to run and audit. */
export interface AuditedAction {
  readonly caller: Pick<Caller, 'keyId' | 'server' | 'requestId' | 'ip'>;
  /** `start`, `command`, ... */
  readonly name: string;
  /** A console command. */
  readonly detail?: string;
}

/** Runs an action, and writes it to the audit log before and after. Throws a {@link Problem} if it fails. */
export type Audited = (action: AuditedAction, act: (deadline: AbortSignal) => Promise<void>) => Promise<void>;

/** Options of auditing. */
export interface AuditOptions {
  readonly audit: Store['audit'];
  /** The timeout of an action, including the wait for the mutex. */
  readonly timeoutMs: number;
  /** Called if the entry after an action cannot be written. */
  readonly onFailure: (error: unknown) => void;
  readonly now?: () => number;
}

/** The maximum length of a console command in the log. */
const maxDetailLength = 64;

/** Creates {@link Audited}. An action is not sent if the entry before it cannot be written. */
export function createAudited({ audit, timeoutMs, onFailure, now = Date.now }: AuditOptions): Audited {
  return async ({ caller: { keyId, server, requestId, ip }, name, detail }, act) => {
    const logged = detail === undefined ? null : Array.from(detail).slice(0, maxDetailLength).join('');
    const entry = { actor: null, keyId, action: name, server, requestId, ip, detail: logged };
    // The timeout starts here, and covers the wait for the mutex and reads before the action.
    const deadline = AbortSignal.timeout(timeoutMs);
    const finish = await writeRequested({ audit, onFailure, now }, entry).catch((cause: unknown) => {
      throw toNotSent('The audit log cannot be written', cause);
    });
    try {
      await act(deadline);
      await finish('ok');
    } catch (error) {
      const problem = toProblem(error);
      await finish(isDefinite(problem) ? problem.code : 'unknown');
      throw problem;
    }
  };
}

/**
 * Writes the entry before an action or change. Rejects if it cannot be written; then the action must not be done. Returns
 * the function that writes the entry after it, which never rejects.
 */
export async function writeRequested(
  { audit, onFailure, now }: Pick<AuditOptions, 'audit' | 'onFailure'> & { readonly now: () => number },
  fields: Omit<AuditEntry, 'actionId' | 'at' | 'phase' | 'outcome' | 'ms'>,
): Promise<(outcome: string) => Promise<void>> {
  const started = now();
  const entry = { ...fields, actionId: randomUUID() };
  await audit.append({ ...entry, at: started, phase: 'requested', outcome: null, ms: null });
  return (outcome) =>
    audit.append({ ...entry, at: now(), phase: 'finished', outcome, ms: now() - started }).catch(onFailure);
}

/** The problem of an action that is not sent, since the store failed. */
export function toNotSent(message: string, cause: unknown): Problem {
  return new Problem('internal_error', undefined, { cause: new ProviderError(message, { outcome: 'refused', cause }) });
}

/** Whether an action that failed certainly had no effect. An unexpected error may have come after it was sent. */
export function isDefinite({ code, cause }: Problem): boolean {
  return cause instanceof ProviderError ? cause.outcome === 'refused' : code !== 'internal_error';
}

/** Converts an error of a provider to a {@link Problem}. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof ProviderError) return new Problem(error.code, error.message, { cause: error });
  return new Problem('internal_error', undefined, { cause: error });
}
