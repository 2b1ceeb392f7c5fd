import { randomUUID } from 'node:crypto';

/** The id of a request: the client's own where it is of 8 to 64 harmless characters, else a new UUID. */
export function toRequestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(header) ? header : randomUUID();
}
