import type { z } from 'zod';
import type { StatusResponse } from '#contract/status.ts';

/** The state of the platform as in the response: each name once, sorted by code point. */
export type PlatformStatus = z.infer<typeof StatusResponse>;

/** The first checks have not decided the state yet. */
export class UndecidedError extends Error {
  override readonly name = 'UndecidedError';
}

/** A source of the platform's state. */
export interface StatusSource {
  /** Starts background work, if there is any. */
  start?(): void;
  /** Reads the state; throws if it is unknown, an {@link UndecidedError} if it soon will be known. */
  read(): Promise<PlatformStatus>;
  close(): Promise<void>;
}
