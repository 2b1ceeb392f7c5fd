import { hash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Aliases } from '#contract/content.ts';
import type { DomainCatalog } from '#contract/domains.ts';
import { mediaTypes } from '#contract/content.ts';
import { Manifest, contractVersion, idSource, isCompressed } from '#contract/release.ts';
import { matchResource, resources } from '#contract/resources.ts';
import type { Resource, ResourceName } from '#contract/resources.ts';
import type { StatusCatalog } from '#contract/status.ts';

/** The bytes of a file in one encoding. */
export interface Variant {
  /** The first 32 digits of the SHA-256 of the bytes. */
  readonly version: string;
  readonly bytes: Buffer;
}

/** A file of a release, as it is served. */
export interface StoredFile {
  /** What kind of file of the release it is, where it is one. */
  readonly name?: ResourceName;
  readonly mediaType: string;
  readonly identity: Variant;
  readonly gzip?: Variant;
  readonly br?: Variant;
  /** How long it may be kept, where that is not as long as usual. */
  readonly cacheControl?: string;
  /** The request target under which it is known, where it was asked for by a former path. */
  readonly canonical?: string;
}

/** A release that was verified, whole in memory: what happens to its folder no longer matters to it. */
export interface Release {
  readonly id: string;
  /** The domain catalog, which only the server reads. */
  readonly domains: DomainCatalog;
  /** The monitors, likewise. */
  readonly status: StatusCatalog;
  /** Files by what they are: a path, and a query value as it is meant. */
  readonly files: ReadonlyMap<string, StoredFile>;
  /** The same by the request targets that mean them in their usual spellings: the value plain or percent-encoded. */
  readonly targets: ReadonlyMap<string, StoredFile>;
}

/** A release that must not be served; the message names the file. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}

/** What the operator is told of releases. */
export interface ReleaseEvents {
  /** A new release is served. */
  taken(release: Release): void;
  /** A new release is not served, and the one before it still is. */
  refused(error: unknown): void;
}

/** The release that is being served. */
export interface Releases {
  current(): Release;
  /** Ends the watch for new releases. */
  stop(): void;
}

/** How often `current` is looked at; with the time to verify, a new release is served well within 2 s. */
const pollMs = 250;

/** How long a release that was refused is left alone: what kept it from being read may pass. */
const retryMs = 30_000;

/**
 * Loads the current release of `dist`, and takes up each new one by itself: verified as a whole beside the requests,
 * then switched to in one step. Throws a {@link ReleaseError} where there is none that can be served.
 */
export async function openReleases(dist: string, events: ReleaseEvents): Promise<Releases> {
  const link = join(dist, 'current');
  let seen = await identify(link);
  let release = await loadRelease(link);

  let retryAt = Infinity;
  const look = async (): Promise<void> => {
    const found = await identify(link);
    if (found === undefined || (found === seen && performance.now() < retryAt)) return;
    seen = found;
    try {
      release = await loadRelease(link);
      retryAt = Infinity;
      events.taken(release);
    } catch (error) {
      retryAt = performance.now() + retryMs;
      events.refused(error);
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const watch = (): void => {
    timer = setTimeout(() => void look().finally(() => timer && watch()), pollMs).unref();
  };
  watch();
  return {
    current: () => release,
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** What tells a release folder from any other, and from what stood at its place before. */
async function identify(link: string): Promise<string | undefined> {
  try {
    const directory = await realpath(link);
    const { ino, mtimeMs } = await stat(directory);
    return `${directory} ${ino} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}

/** Reads a release and proves every byte of it. Throws a {@link ReleaseError} that names the first wrong file. */
export async function loadRelease(link: string): Promise<Release> {
  const directory = await realpath(link).catch(() => {
    throw new ReleaseError(`${link}: there is no release; build one first`);
  });
  const manifest = await loadManifest(join(directory, 'manifest.json'));
  const contents = await loadFiles(directory, manifest);
  const aliases = parseFile(directory, contents, 'aliases') as Aliases;
  const domains = parseFile(directory, contents, 'domains') as DomainCatalog;
  const status = parseFile(directory, contents, 'status') as StatusCatalog;
  for (const name of ['plans', 'openapi'] as const) parseFile(directory, contents, name);

  const files = new Map<string, StoredFile>();
  const targets = new Map<string, StoredFile>();
  const add = (target: string, stored: StoredFile): void => {
    files.set(target, stored);
    targets.set(target, stored);
    const [path, name, value] = target.split(/[?=]/);
    if (value !== undefined) targets.set(`${path}?${name}=${encodeURIComponent(value)}`, stored);
  };
  for (const file of contents.keys()) {
    const match = matchResource(file);
    if (match?.target === undefined || isCompressed(file)) continue;
    add(match.target, toStoredFile(match.name, file, contents));
  }
  for (const { file, target } of Object.values<Resource>(resources)) {
    if (target && !file.includes('{') && !files.has(target))
      throw new ReleaseError(`${join(directory, file)}: the file is missing`);
  }
  for (const [from, to] of Object.entries(aliases)) {
    const endpoint = from.startsWith('/blog/') ? '/v1/blog/article' : '/v1/kb/article';
    const canonical = `${endpoint}?path=${to}`;
    const stored = files.get(canonical);
    if (stored) add(`${endpoint}?path=${from}`, { ...stored, canonical });
  }
  return { id: manifest.id, domains, status, files, targets };
}

async function loadManifest(path: string): Promise<Manifest> {
  let manifest: Manifest;
  try {
    manifest = Manifest.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw new ReleaseError(`${path}: the manifest cannot be read`, { cause: error });
  }
  if (hash('sha256', idSource(manifest)).slice(0, 16) !== manifest.id) {
    throw new ReleaseError(`${path}: the manifest does not match its id`);
  }
  if (manifest.contractVersion.split('.')[0] !== contractVersion.split('.')[0]) {
    throw new ReleaseError(
      `${path}: the release follows version ${manifest.contractVersion}, this server ${contractVersion}`,
    );
  }
  return manifest;
}

/** Files that are read at a time: enough to keep a disk busy, few enough to leave the event loop to the requests. */
const readers = 8;

async function loadFiles(directory: string, manifest: Manifest): Promise<Map<string, Variant>> {
  const contents = new Map<string, Variant>();
  const queue = Object.entries(manifest.files).values();
  const read = async (): Promise<void> => {
    for (const [file, expected] of queue) {
      const path = join(directory, file);
      const bytes = await readFile(path).catch((error: unknown) => {
        throw new ReleaseError(`${path}: the file cannot be read`, { cause: error });
      });
      if (bytes.length !== expected.bytes || hash('sha256', bytes) !== expected.sha256) {
        throw new ReleaseError(`${path}: the file does not match the manifest`);
      }
      contents.set(file, { version: expected.sha256.slice(0, 32), bytes });
    }
  };
  await Promise.all(Array.from({ length: readers }, read));
  return contents;
}

function parseFile(directory: string, contents: ReadonlyMap<string, Variant>, name: ResourceName): unknown {
  const { file, schema }: Resource = resources[name];
  try {
    return schema?.parse(JSON.parse(contents.get(file)!.bytes.toString('utf8')));
  } catch (error) {
    throw new ReleaseError(`${join(directory, file)}: the file is not what this server understands`, { cause: error });
  }
}

function toStoredFile(name: ResourceName, file: string, contents: ReadonlyMap<string, Variant>): StoredFile {
  const gzip = contents.get(`${file}.gz`);
  const br = contents.get(`${file}.br`);
  const { mediaType: own = 'application/json' }: Resource = resources[name];
  const mediaType = name === 'media' ? (mediaTypes[extname(file).slice(1)] ?? 'application/octet-stream') : own;
  const compressed = { ...(gzip && { gzip }), ...(br && { br }) };
  const cacheControl = name === 'statusWidgetVersion' && { cacheControl: 'public, max-age=31536000, immutable' };
  return { name, mediaType, identity: contents.get(file)!, ...compressed, ...cacheControl };
}
