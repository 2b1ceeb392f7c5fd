import { readFile, realpath } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { inSlices, parseManifest } from '#common/manifest.ts';
import type { Aliases } from '#contract/content.ts';
import type { DomainCatalog } from '#contract/domains.ts';
import type { StaticFile } from '#contract/endpoint.ts';
import { contractVersion, isCompressed } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';
import { matchFile, staticFiles, targetOf } from '#contract/static-files.ts';
import type { StaticFileName } from '#contract/static-files.ts';
import type { StatusCatalog } from '#contract/status.ts';
import type { StoredFile } from '../http/stored.ts';
import { ReleaseError, readReleaseFile, verifyReleaseFiles } from './files.ts';
import type { ReleaseFile } from './files.ts';

/** A verified release. */
export interface Release {
  readonly id: string;
  /** The day of the next scheduled article, YYYY-MM-DD: from then on, a build makes another release. */
  readonly nextChangeAt: string | null;
  /** The domain catalog, for the server only. */
  readonly domains: DomainCatalog;
  /** The monitors and planned maintenance, for the server only. */
  readonly status: StatusCatalog;
  /** Finds a file by its request target, with a decoded query value. */
  find(target: string): ServedFile | undefined;
}

/** A file of a release, ready to be served. */
export interface ServedFile extends StoredFile<ReleaseFile> {
  /** The path of the endpoint that answers with it. */
  readonly route: string;
}

/** Reads the bytes of files while a release is served. */
export type ReadBytes = Pick<ServedFile, 'inMemory' | 'read'>;

/** Options of {@link loadRelease}. */
export interface LoadOptions {
  /** Throws if this machine cannot use the monitors and maintenance, for instance a time zone. */
  readonly checkStatus: (status: StatusCatalog) => void;
  /** The readers of files; media have their own, since they may be long. */
  readonly readers: { readonly default: ReadBytes; readonly media: ReadBytes };
}

/** Loads the release that `link` points to. Throws a {@link ReleaseError} that names the first wrong file. */
export async function loadRelease(link: string, { checkStatus, readers }: LoadOptions): Promise<Release> {
  const directory = await realpath(link).catch(() => {
    throw new ReleaseError(`DIST_DIR: there is no release at ${resolve(link)}; build one first`);
  });
  const manifest = await readManifest(directory);
  const files = new Map<string, ReleaseFile>();
  for await (const file of inSlices(Object.keys(manifest.files))) {
    files.set(file, { path: `${directory}/${file}`, ...manifest.files[file]! });
  }
  for await (const _ of inSlices(verifyReleaseFiles(files.values())));
  const parse = async <Value>(name: StaticFileName, check?: (value: Value) => void): Promise<Value> => {
    const { file, schema }: StaticFile = staticFiles[name];
    const found = files.get(file);
    if (!found) throw new ReleaseError(`${join(directory, file)}: the file is missing`);
    const content = await readReleaseFile(found);
    try {
      const value = schema!.parse(JSON.parse(content.toString('utf8'))) as Value;
      check?.(value);
      return value;
    } catch (error) {
      throw new ReleaseError(`${found.path}: the file has an unexpected format`, { cause: error });
    }
  };
  const [aliases, domains, status] = await Promise.all([
    parse<Aliases>('aliases'),
    parse<DomainCatalog>('domains'),
    parse('status', checkStatus),
    parse('getPlans'),
    parse('getOpenApi'),
  ]);
  const table = await toTable(directory, files, aliases, readers);
  return { id: manifest.id, nextChangeAt: manifest.nextChangeAt, domains, status, find: (target) => table.get(target) };
}

/** Reads the manifest. Throws a {@link ReleaseError} if it is corrupted or has another major version. */
async function readManifest(directory: string): Promise<Manifest> {
  const path = join(directory, 'manifest.json');
  let manifest: Manifest;
  try {
    manifest = await parseManifest(await readFile(path, 'utf8'));
  } catch (error) {
    throw new ReleaseError(`${path}: the manifest cannot be read, or was changed`, { cause: error });
  }
  if (manifest.contractVersion.split('.')[0] !== contractVersion.split('.')[0]) {
    throw new ReleaseError(
      `${path}: the release follows version ${manifest.contractVersion}, this server ${contractVersion}`,
    );
  }
  return manifest;
}

/** All files by request target; articles also by their former paths. */
async function toTable(
  directory: string,
  files: ReadonlyMap<string, ReleaseFile>,
  aliases: Aliases,
  readers: LoadOptions['readers'],
): Promise<Map<string, ServedFile>> {
  const table = new Map<string, ServedFile>();
  for await (const [file, identity] of inSlices(files)) {
    const match = isCompressed(file) ? undefined : matchFile(file);
    if (match?.target === undefined) continue;
    const [gzip, br] = [files.get(`${file}.gz`), files.get(`${file}.br`)];
    table.set(match.target, {
      ...describe(match.name, file),
      route: targetOf(match.name)!.split('?', 1)[0]!,
      ...(match.name === 'getMedia' ? { ...readers.media, hasRanges: true } : readers.default),
      variants: { identity, ...(gzip && { gzip }), ...(br && { br }) },
      prepared: {},
    });
  }
  for (const name of Object.keys(staticFiles) as StaticFileName[]) {
    const { file, absent }: StaticFile = staticFiles[name];
    const isRequired = !file.includes('{') && (absent === undefined || absent === 'empty_list');
    const target = targetOf(name);
    if (target !== undefined && isRequired && !table.has(target)) {
      throw new ReleaseError(`${join(directory, file)}: the file is missing`);
    }
  }
  for (const [from, to] of Object.entries(aliases)) {
    const endpoint = from.startsWith('/blog/') ? '/v1/blog/article' : '/v1/kb/article';
    const location = `${endpoint}?path=${to}`;
    const file = table.get(location);
    if (file) table.set(`${endpoint}?path=${from}`, { ...file, location, prepared: {} });
  }
  return table;
}

/** An SVG that is opened directly is a document of this origin, so it must not run scripts or load anything. */
const mediaPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/**
 * A browser opens a video or sound in a page of its own making, to which the policy of the file applies, and requests it again
 * from there. In a sandbox that page has no origin, so that the request needs CORS.
 */
const playerPolicy = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'";

/** The pages of /docs load nothing of others, and send a pasted key to this service alone. */
const docsHeaders = [
  'Content-Security-Policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy',
  'no-referrer',
];

function describe(
  name: StaticFileName,
  file: string,
): Pick<ServedFile, 'mediaType' | 'cacheControl' | 'documentHeaders'> {
  const { mediaType: types = 'application/json', isImmutable = false }: StaticFile = staticFiles[name];
  const mediaType = typeof types === 'string' ? types : (types[extname(file).slice(1)] ?? 'application/octet-stream');
  if (name === 'getMedia') {
    const policy = /^(?:audio|video)\//.test(mediaType) ? playerPolicy : mediaPolicy;
    return { mediaType, documentHeaders: ['Content-Security-Policy', policy] };
  }
  // A page names scripts and styles that only its own release has, so that no cache may answer with an older page.
  if (mediaType.startsWith('text/html')) return { mediaType, documentHeaders: docsHeaders, cacheControl: 'no-cache' };
  return { mediaType, ...(isImmutable && { cacheControl: 'public, max-age=31536000, immutable' }) };
}
