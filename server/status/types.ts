import type { z } from 'zod';
import type { StatusResponse } from '#contract/status.ts';

/** The state of the platform, as it is answered: names once each, sorted by code point. */
export type PlatformStatus = z.infer<typeof StatusResponse>;

/** Who knows the state of the platform. */
export interface StatusSource {
  /** Begins what it does by itself, where there is such a thing. */
  start?(): void;
  /** Reads the state; throws where it is not known for certain. */
  read(): Promise<PlatformStatus>;
  close(): Promise<void>;
}
