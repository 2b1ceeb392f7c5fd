import type { LookupFunction } from 'node:net';
import type { Finding } from '../finding.ts';
import type { Check, Seen, Site, Visit } from './types.ts';
import { fault } from '../finding.ts';
import { createVisit } from './client.ts';
import { answers, clock, encryption, isLoopback } from './reach.ts';
import { bodies, errors } from './bodies.ts';
import { contentTypes, requestIds } from './headers.ts';
import { cachedByQuery, conditional, neverCached, oneRelease } from './caching.ts';
import { encodings } from './encodings.ts';
import { crossOrigin, preflight } from './cors.ts';
import { largeBodies, methods } from './methods.ts';
import { forgedAddress, sharedAddress } from './address.ts';
import { authorization, keyedReads } from './keys.ts';
import { slashes, ranges } from './media.ts';
import { streamAddress, streams } from './streams.ts';

/** The checks that all others depend on. */
const first: readonly Check[] = [answers];

/** Every other check, in the order of the table. */
const checks: readonly Check[] = [
  encryption,
  clock,
  bodies,
  errors,
  contentTypes,
  requestIds,
  conditional,
  neverCached,
  cachedByQuery,
  oneRelease,
  encodings,
  crossOrigin,
  preflight,
  methods,
  largeBodies,
  forgedAddress,
  sharedAddress,
  authorization,
  keyedReads,
  slashes,
  ranges,
  streams,
  streamAddress,
];

/** Options of {@link examine}. */
export interface ExamineOptions {
  readonly key?: string | undefined;
  /** Resolves the name of the service; default: the resolver of the system. */
  readonly lookup?: LookupFunction;
}

/**
 * Looks at a running service as its clients see it, through all proxies. It sends no action, no command and no vote. With
 * an API key, what the key may read is read too, unless it would travel in plain text.
 */
export async function examine(base: URL, { key, lookup }: ExamineOptions = {}): Promise<readonly Finding[]> {
  const visit = createVisit(base, lookup);
  const isSafe = base.protocol === 'https:' || isLoopback(base);
  const blank = { visit, base, articles: [], picture: undefined, key: isSafe ? key : undefined };
  const findings = await runAll(first, blank);
  if (findings.some(({ state }) => state === 'fault')) return findings;
  return [...findings, ...(await runAll(checks, { ...blank, ...(await readLists(visit)) }))];
}

/** Runs checks one after another: some count requests, others look at what a proxy kept of an earlier one. */
async function runAll(all: readonly Check[], site: Site): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, run } of all) {
    // oxlint-disable-next-line no-await-in-loop
    const outcome = await run(site).catch((error: unknown) =>
      fault(`the request failed: ${describe(error)}`, adviseOn(error)),
    );
    findings.push({ check: name, ...outcome });
  }
  return findings;
}

function adviseOn(error: unknown): string {
  const code = describe(error);
  if (/CERT|SELF_SIGNED|VERIFY|ALTNAME/.test(code)) {
    return 'clients refuse the certificate: it must be valid for this name, not ended, and sent with its intermediate ones';
  }
  if (/ENOTFOUND|EAI_AGAIN/.test(code)) return 'the name is not in the DNS as this machine sees it';
  return 'see that the proxy listens there and does not cut the connection, and read its error log';
}

/** Describes a failed request by its code, since messages of Node.js repeat the address. */
export function describe(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

const ignore = (): undefined => undefined;

/** Reads the lists, for articles and a picture to look at. */
async function readLists(visit: Visit): Promise<Pick<Site, 'articles' | 'picture'>> {
  const [blog, kb] = await Promise.all([visit('/v1/blog/list').catch(ignore), visit('/v1/kb/list').catch(ignore)]);
  const [posts, guides] = [listOf(blog), listOf(kb)];
  return {
    articles: [
      ...posts.map(({ path }) => `/v1/blog/article?path=${path}`),
      ...guides.map(({ path }) => `/v1/kb/article?path=${path}`),
    ],
    picture: posts.find(({ cover }) => cover?.startsWith('/media/'))?.cover,
  };
}

function listOf(seen: Seen | undefined): readonly { readonly path: string; readonly cover?: string }[] {
  const list = seen?.json();
  if (!Array.isArray(list)) return [];
  return (list as readonly { path: string; cover?: string }[]).filter((item) => typeof item?.path === 'string');
}
