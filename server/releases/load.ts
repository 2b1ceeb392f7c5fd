import { hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { extname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { mediaTypes } from '#contract/content.ts';
import type { Aliases } from '#contract/content.ts';
import type { DomainCatalog } from '#contract/domains.ts';
import { Manifest, contractVersion, idSource, isCompressed } from '#contract/release.ts';
import { matchResource, resources } from '#contract/resources.ts';
import type { Resource, ResourceName } from '#contract/resources.ts';
import type { StatusCatalog } from '#contract/status.ts';
import { toWindows } from '../status/windows.ts';

/** A file in one encoding: where its bytes stand in a pack. */
export interface Span {
  readonly offset: number;
  readonly size: number;
  /** The first 32 digits of the SHA-256 of the bytes. */
  readonly version: string;
}

/** A file of a release, as it is served, but for its bytes. */
export interface PackedFile {
  /** What kind of file of the release it is. */
  readonly name: ResourceName;
  readonly mediaType: string;
  readonly identity: Span;
  readonly gzip?: Span;
  readonly br?: Span;
  /** How long it may be kept, where that is not as long as usual. */
  readonly cacheControl?: string;
  /** The request target under which it is known, where it was asked for by a former path. */
  readonly canonical?: string;
}

/** What a release of which every byte was proved holds. */
export interface ReleaseContents {
  readonly id: string;
  readonly domains: DomainCatalog;
  readonly status: StatusCatalog;
  /**
   * A line for each file that can be asked for: what it is, which is a path and a query value as it is meant, a tab, and
   * the {@link PackedFile} as JSON. As one text ten thousand take 3 MB, and as objects many times that.
   */
  readonly index: string;
}

/** A release that must not be served; the message names the file. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}

/**
 * Reads the files of a release, proves every byte, and writes them one after the other to memory or to a file that is
 * open. Throws a {@link ReleaseError} that names the first wrong file.
 */
export async function readContents(
  directory: string,
  manifest: Manifest,
  pack: ArrayBuffer | number,
): Promise<ReleaseContents> {
  const { spans, parsed } = await readFiles(directory, manifest, pack);
  const { aliases, domains, status } = parsed as { aliases: Aliases; domains: DomainCatalog; status: StatusCatalog };
  return { id: manifest.id, domains, status, index: toIndex(directory, spans, aliases) };
}

/** Reads what a release says it holds. Throws a {@link ReleaseError} where that is not sound in itself. */
export function readManifest(directory: string): Manifest {
  const path = join(directory, 'manifest.json');
  let manifest: Manifest;
  try {
    manifest = Manifest.parse(JSON.parse(readFileSync(path, 'utf8')));
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

/** The files that the server itself must understand. */
const understood: readonly ResourceName[] = ['aliases', 'domains', 'status', 'plans', 'openapi'];

/** After so many bytes, other work has a turn. */
const turnBytes = 1_000_000;

/** Reads each file once, into the place where it stays or into one buffer for all: copies would swell the process. */
async function readFiles(directory: string, manifest: Manifest, pack: ArrayBuffer | number) {
  const names = new Map(understood.map((name) => [resources[name].file as string, name]));
  const parsed: Partial<Record<ResourceName, unknown>> = {};
  const spans = new Map<string, Span>();
  let shared = Buffer.alloc(0);
  let offset = 0;
  let turnAt = turnBytes;
  for (const [file, { bytes: size, sha256 }] of Object.entries(manifest.files)) {
    const path = join(directory, file);
    const content = readFile(path, size, () => {
      if (typeof pack !== 'number') return Buffer.from(pack, offset, size);
      if (shared.length < size) shared = Buffer.allocUnsafeSlow(size);
      return shared.subarray(0, size);
    });
    if (!content || hash('sha256', content) !== sha256) {
      throw new ReleaseError(`${path}: the file does not match the manifest`);
    }
    if (typeof pack === 'number') writeAll(pack, content);
    const name = names.get(file);
    if (name) parsed[name] = parseFile(path, name, content);
    spans.set(file, { offset, size, version: sha256.slice(0, 32) });
    offset += size;
    if (offset < turnAt) continue;
    turnAt = offset + turnBytes;
    // oxlint-disable-next-line no-await-in-loop
    await turn();
  }
  for (const [file, name] of names) {
    if (!(name in parsed)) throw new ReleaseError(`${join(directory, file)}: the file is missing`);
  }
  return { spans, parsed };
}

/** Fills the room that is given for a file of this size; undefined where it has another. */
function readFile(path: string, size: number, room: () => Buffer): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    // Looked at first: a wrong manifest must not decide how much memory is taken.
    if (fstatSync(file).size !== size) return undefined;
    const content = room();
    let read = 0;
    for (let more = -1; more !== 0 && read < size; read += more)
      more = readSync(file, content, read, size - read, read);
    return read === size ? content : undefined;
  } catch (error) {
    throw new ReleaseError(`${path}: the file cannot be read`, { cause: error });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Writes to the end of a file. Throws a {@link ReleaseError} where it cannot, as where the disk is full. */
export function writeAll(pack: number, content: Buffer): void {
  try {
    for (let written = 0; written < content.length;) written += writeSync(pack, content, written);
  } catch (error) {
    throw new ReleaseError('the release cannot be kept in DATA_DIR', { cause: error });
  }
}

function parseFile(path: string, name: ResourceName, content: Buffer): unknown {
  const { schema }: Resource = resources[name];
  try {
    const value = schema?.parse(JSON.parse(content.toString('utf8')));
    // Whether this machine knows a time zone is only found by using it.
    if (name === 'status') toWindows((value as StatusCatalog).maintenance);
    return value;
  } catch (error) {
    throw new ReleaseError(`${path}: the file is not what this server understands`, { cause: error });
  }
}

function toIndex(directory: string, spans: ReadonlyMap<string, Span>, aliases: Aliases): string {
  const index = new Map<string, string>();
  for (const file of spans.keys()) {
    const match = isCompressed(file) ? undefined : matchResource(file);
    if (match?.target !== undefined) index.set(match.target, JSON.stringify(toPackedFile(match.name, file, spans)));
  }
  for (const { file, target } of Object.values<Resource>(resources)) {
    if (target && !file.includes('{') && !index.has(target))
      throw new ReleaseError(`${join(directory, file)}: the file is missing`);
  }
  for (const [from, to] of Object.entries(aliases)) {
    const endpoint = from.startsWith('/blog/') ? '/v1/blog/article' : '/v1/kb/article';
    const canonical = `${endpoint}?path=${to}`;
    const known = index.get(canonical);
    if (known !== undefined) index.set(`${endpoint}?path=${from}`, JSON.stringify({ ...JSON.parse(known), canonical }));
  }
  return Array.from(index, ([target, file]) => `${target}\t${file}\n`).join('');
}

function toPackedFile(name: ResourceName, file: string, spans: ReadonlyMap<string, Span>): PackedFile {
  const gzip = spans.get(`${file}.gz`);
  const br = spans.get(`${file}.br`);
  const { mediaType: own = 'application/json' }: Resource = resources[name];
  const mediaType = name === 'media' ? (mediaTypes[extname(file).slice(1)] ?? 'application/octet-stream') : own;
  const compressed = { ...(gzip && { gzip }), ...(br && { br }) };
  const cacheControl = name === 'statusWidgetVersion' && { cacheControl: 'public, max-age=31536000, immutable' };
  return { name, mediaType, identity: spans.get(file)!, ...compressed, ...cacheControl };
}
