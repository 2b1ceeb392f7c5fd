import { lstat, readFile, realpath, stat } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { defaultFolders } from '#common/environment.ts';
import { toInstant } from '#common/local-time.ts';
import { inSlices, parseManifest } from '#common/manifest.ts';
import { toSitePath } from '#contract/articles.ts';
import type { Aliases } from '#contract/articles.ts';
import type { DomainCatalog } from '#contract/domains.ts';
import { isLimited } from '#contract/endpoint.ts';
import type { StaticFile } from '#contract/endpoint.ts';
import { contractVersion, isCompressed } from '#contract/release.ts';
import { matchFile, staticFiles, targetOf } from '#contract/endpoints.ts';
import type { StaticFileName } from '#contract/endpoints.ts';
import type { StatusCatalog } from '#contract/status.ts';
import type { StoredFile } from '../http/stored.ts';
import type { Base } from '../lifecycle.ts';
import { integer } from '../settings.ts';
import { createPoller } from '../upstream/poller.ts';
import { ReleaseError, readReleaseFile, streamReleaseFile, verifyReleaseFiles } from './files.ts';
import type { ReleaseFile } from './files.ts';

/** The settings of releases. */
export const ReleaseSettings = z.object({
  DIST_DIR: z.string().default(defaultFolders.DIST_DIR).describe('The folder of releases.'),
  RELEASE_CACHE_BYTES: integer(0, 1_099_511_627_776)
    .default(33_554_432)
    .describe('The size of the cache for files of the release, in bytes.'),
});

/** A verified release. */
export interface Release {
  readonly id: string;
  /** The day of the next scheduled article, YYYY-MM-DD: the next build publishes the article then. */
  readonly nextChangeAt: string | null;
  /** The catalogs for the server alone: domains, and monitors with planned maintenance. */
  readonly domains: DomainCatalog;
  readonly status: StatusCatalog;
  /** The files by request target, with a decoded query value. */
  readonly files: ReadonlyMap<string, Resource>;
  /** Finds a file by its request target, or an article by a former path or another form of its path. */
  readonly find: (target: string) => Resource | undefined;
}

/** A file of a release, ready to serve. */
export interface Resource extends StoredFile<ReleaseFile> {
  /** The path template of the endpoint, and whether the rate limit of content applies there. */
  readonly route: string;
  readonly isLimited: boolean;
}

type Reader = Pick<Resource, 'inMemory' | 'read'>;

/** Short enough to serve a new release within 2 s, verification included. */
const pollMs = 250;
/** Retry a rejected release after this long: the cause may be temporary. */
const retryMs = 30_000;

const articleTarget = '/v1/kb/article?path=';

/** The current release, replaced by each new release. */
export type Releases = Awaited<ReturnType<typeof openReleases>>;

/** Opens the current release; once started, serves each new release after its verification. */
export async function openReleases({ env, log, opened, report }: Base<z.infer<typeof ReleaseSettings>>) {
  const link = join(env.DIST_DIR, 'current');
  const reader = createReader(env.RELEASE_CACHE_BYTES);
  const load = (): Promise<Release> => loadRelease(link, reader);
  const onRejected = report('new release rejected; the previous one is still served');
  let seen = await identify(link);
  let release = await load();
  let loaded = seen;
  let confirmedAt = (await lstat(link)).mtimeMs;
  let retryAt = Infinity;
  let stopped = false;

  const read = async (): Promise<void> => {
    const found = await identify(link);
    if (found === undefined || (found === seen && performance.now() < retryAt)) return;
    seen = found;
    try {
      const next = await load();
      retryAt = Infinity;
      if (stopped) return;
      release = next;
      loaded = found;
      log.info({ release: release.id }, 'new release');
    } catch (error) {
      retryAt = performance.now() + retryMs;
      if (!stopped) onRejected(error);
    }
  };
  const watch = createPoller({ read, everyMs: () => pollMs });
  opened.defer(() => {
    stopped = true;
    void watch.stop();
  });
  return {
    start: (): void => void watch.start(),
    current: (): Release => release,
    /** Finds the current path of a knowledge base article, also by a former path. */
    findArticle(path: string): string | undefined {
      const file = release.find(articleTarget + path);
      return file && (file.location?.slice(articleTarget.length) ?? path);
    },
    /** The time of the last build that made or confirmed this release, in ms since 1970. */
    async confirmedAt(): Promise<number> {
      // The link may point to a rejected release.
      if ((await identify(link)) === loaded) confirmedAt = (await lstat(link)).mtimeMs;
      return confirmedAt;
    },
  };
}

/** Identifies the release folder; a replaced folder at the same path differs. */
async function identify(link: string): Promise<string | undefined> {
  try {
    const directory = await realpath(link);
    const { ino, mtimeMs } = await stat(directory);
    return `${directory} ${ino} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}

/** Creates the reader of files; its cache outlives a switch of releases. */
function createReader(cacheBytes: number): Reader {
  const cache = new LRUCache<string, Buffer, ReleaseFile>({
    // 0 would mean no limit.
    maxSize: Math.max(1, cacheBytes),
    sizeCalculation: ({ length }) => Math.max(1, length),
    fetchMethod: (_hash, _stale, { context }) => readReleaseFile(context),
  });
  return {
    inMemory: ({ sha256 }) => cache.get(sha256),
    read: async (file, range) =>
      file.segments ? await streamReleaseFile(file, range) : (await cache.fetch(file.sha256, { context: file }))!,
  };
}

/** Loads the release that `link` points to. Throws a {@link ReleaseError} that names the first wrong file. */
export async function loadRelease(link: string, reader = createReader(0)): Promise<Release> {
  const directory = await realpath(link).catch(() => {
    throw new ReleaseError(`DIST_DIR: there is no release at ${resolve(link)}; build one first`);
  });
  const manifest = await readManifest(directory);
  const files = new Map<string, ReleaseFile>();
  for await (const file of inSlices(Object.keys(manifest.files))) {
    files.set(file, { path: `${directory}/${file}`, ...manifest.files[file]! });
  }
  for await (const _ of inSlices(verifyReleaseFiles(files)));
  for (const { file, absent } of Object.values<StaticFile>(staticFiles)) {
    const isRequired = !file.includes('{') && (absent === undefined || absent === 'empty_list');
    if (isRequired && !files.has(file)) throw new ReleaseError(`${join(directory, file)}: the file is missing`);
  }
  const parse = async <Value>(name: StaticFileName, check?: (value: Value) => void): Promise<Value> => {
    const { file, schema }: StaticFile = staticFiles[name];
    const found = files.get(file)!;
    const content = await readReleaseFile(found);
    try {
      // Parsed once: compiling a parser takes longer.
      const value = schema!.parse(JSON.parse(content.toString('utf8')), { jitless: true }) as Value;
      check?.(value);
      return value;
    } catch (error) {
      throw new ReleaseError(`${found.path}: the file has an unexpected format`, { cause: error });
    }
  };
  const [aliases, domains, status] = await Promise.all([
    parse<Aliases>('aliases'),
    parse<DomainCatalog>('domains'),
    parse('status', checkTimeZones),
    parse('getPlans'),
    parse('getOpenApi'),
  ]);
  const table = await toTable(files, reader);
  /** Finds an article by a former path, or by another form of a path, such as with a slash at the end. */
  const findMoved = (target: string): Resource | undefined => {
    const [, endpoint, written] = /^(.*\/article\?path=)(\/.+)$/s.exec(target) ?? [];
    if (endpoint === undefined || written === undefined) return undefined;
    const path = toSitePath(written);
    const location = endpoint + (Object.hasOwn(aliases, path) ? aliases[path] : path);
    const file = table.get(location);
    return file && { ...file, location, prepared: {} };
  };
  const { id, nextChangeAt } = manifest;
  return { id, nextChangeAt, domains, status, files: table, find: (target) => table.get(target) ?? findMoved(target) };
}

/** Throws for a time zone that this machine does not have. */
function checkTimeZones({ maintenance }: StatusCatalog): void {
  for (const { start, timezone } of maintenance) toInstant(start, timezone);
}

async function readManifest(directory: string) {
  const path = join(directory, 'manifest.json');
  const manifest = await readFile(path, 'utf8')
    .then(parseManifest)
    .catch((cause: unknown) => {
      throw new ReleaseError(`${path}: the manifest cannot be read, or was changed`, { cause });
    });
  if (manifest.contractVersion.split('.')[0] !== contractVersion.split('.')[0]) {
    throw new ReleaseError(
      `${path}: the release has contract version ${manifest.contractVersion}, but this server needs ${contractVersion}; build it again`,
    );
  }
  return manifest;
}

/** Lists all files by request target. */
async function toTable(files: ReadonlyMap<string, ReleaseFile>, reader: Reader) {
  const table = new Map<string, Resource>();
  for await (const [file, identity] of inSlices(files)) {
    const match = isCompressed(file) ? undefined : matchFile(file);
    // No public request can have a path without a slash as its target.
    const target = match?.name === 'operatorDocs' ? file : match?.target;
    if (match === undefined || target === undefined) continue;
    const route = (targetOf(match.name) ?? file).split('?', 1)[0]!;
    const [gzip, br] = [files.get(`${file}.gz`), files.get(`${file}.br`)];
    table.set(target, {
      ...describeFile(match.name, file),
      route,
      isLimited: isLimited(route),
      ...reader,
      variants: { identity, ...(gzip && { gzip }), ...(br && { br }) },
      prepared: {},
    });
  }
  return table;
}

/** An SVG opened directly is a document of this origin: it must not run scripts or load anything. */
const mediaPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** CSP for the browser's built-in video page; `sandbox` would break playback without CORS. */
const playerPolicy = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'";

/** CSP for /docs: pages load nothing from other origins, and send a pasted key to this service only. */
const docsHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'Referrer-Policy': 'no-referrer',
};

function describeFile(name: StaticFileName, file: string) {
  const { mediaType: types = 'application/json', isImmutable = false }: StaticFile = staticFiles[name];
  const mediaType = typeof types === 'string' ? types : (types[extname(file).slice(1)] ?? 'application/octet-stream');
  if (name === 'getMedia') {
    const policy = /^(?:audio|video)\//.test(mediaType) ? playerPolicy : mediaPolicy;
    return { mediaType, documentHeaders: { 'Content-Security-Policy': policy }, hasRanges: true };
  }
  // HTML references hashed assets of its own release, so it must not be cached.
  if (mediaType.startsWith('text/html')) return { mediaType, documentHeaders: docsHeaders, cacheControl: 'no-cache' };
  return { mediaType, ...(isImmutable && { cacheControl: 'public, max-age=31536000, immutable' }) };
}
