import type { Outcome } from '../finding.ts';

/** Looks at one property of the service; a failed request is thrown. */
export interface Check {
  readonly name: string;
  readonly run: (site: Site) => Promise<Outcome>;
}

/** The service as a client sees it, and what its lists contain. */
export interface Site {
  readonly visit: Visit;
  readonly base: URL;
  /** Targets of articles. */
  readonly articles: readonly string[];
  /** The target of a picture, if an article has one. */
  readonly picture: string | undefined;
  /** An API key; it is sent to the service only. */
  readonly key: string | undefined;
}

/** Sends one request and reads the answer; throws if there is none. */
export type Visit = (target: string, request?: VisitRequest) => Promise<Seen>;

/** A request. */
export interface VisitRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The version of IP; default: any. */
  readonly family?: 4 | 6;
}

/** An answer as it was on the wire. */
export interface Seen {
  readonly status: number;
  /** The values of a header, one for each time that it was sent. */
  readonly all: (name: string) => readonly string[];
  /** The values of a header, joined by commas; empty if it is missing. */
  readonly header: (name: string) => string;
  /** The body as it was sent, perhaps compressed. */
  readonly bytes: Buffer;
  /** The body as text, decompressed. */
  readonly text: () => string;
  /** The body as JSON; undefined if it is not JSON. */
  readonly json: () => unknown;
}
