import type { Caller } from '../http/handle.ts';
import { Problem } from '../problem.ts';
import type { Store } from '../store/types.ts';
import { ProviderError } from '../upstream/error.ts';

/** An action that is about to be made. */
export interface AuditedAction {
  readonly caller: Pick<Caller, 'keyId' | 'server' | 'requestId' | 'ip'>;
  /** `start`, `command`, ... */
  readonly name: string;
  /** A console command. */
  readonly detail?: string;
}

/** Makes an action, and writes it to the audit log before and after. What fails is thrown as a {@link Problem}. */
export type Audited = (action: AuditedAction, act: (deadline: AbortSignal) => Promise<void>) => Promise<void>;

/** What actions are audited with. */
export interface AuditOptions {
  readonly audit: Store['audit'];
  /** How long an action may take, the wait for its turn included. */
  readonly timeoutMs: number;
  /** Gets the error of an entry that could not be written after its action. */
  readonly onFailure: (error: unknown) => void;
  readonly now?: () => number;
}

/** The most characters of a console command that are kept. */
const keptDetail = 64;

/** Creates {@link Audited}. An action that cannot be written to the log before it is sent is not sent. */
export function createAudited({ audit, timeoutMs, onFailure, now = Date.now }: AuditOptions): Audited {
  return async ({ caller: { keyId, server, requestId, ip }, name, detail }, act) => {
    const started = now();
    const kept = detail === undefined ? null : Array.from(detail).slice(0, keptDetail).join('');
    const entry = { keyId, action: name, server, requestId, ip, detail: kept };
    const finish = (outcome: string): Promise<void> =>
      audit.append({ ...entry, at: now(), phase: 'finished', outcome, ms: now() - started }).catch(onFailure);
    // It starts here: an action that waits for its turn, or for a look-up, has that much less time for itself.
    const deadline = AbortSignal.timeout(timeoutMs);
    await audit
      .append({ ...entry, at: started, phase: 'requested', outcome: null, ms: null })
      .catch((cause: unknown) => {
        const notSent = new ProviderError('The audit log cannot be written', { outcome: 'refused', cause });
        throw new Problem('internal_error', undefined, { cause: notSent });
      });
    try {
      await act(deadline);
      await finish('ok');
    } catch (error) {
      const problem = toProblem(error);
      const { cause } = problem;
      await finish(cause instanceof ProviderError && cause.outcome === 'unknown' ? 'unknown' : problem.code);
      throw problem;
    }
  };
}

/** What a provider threw, as the error of an answer. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof ProviderError) return new Problem(error.code, error.message, { cause: error });
  return new Problem('internal_error', undefined, { cause: error });
}
