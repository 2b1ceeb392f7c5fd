import { hash, randomBytes } from 'node:crypto';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { mkdir, open, readFile, readlink, realpath, rename, rm, symlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { Manifest, contractVersion, idSource } from '#contract/release.ts';
import { fillTemplate, resources } from '#contract/resources.ts';
import type { Resource, ResourceName } from '#contract/resources.ts';
import { compareText } from './diagnostics.ts';

/** How hard files are compressed: `fast` costs less than rendering does, `best` is for a CDN's last percent. */
export type Compression = Manifest['compression'];

/** A release in the making: nothing of it can be seen before it is published. */
export interface Stage {
  /** Writes a JSON file and its compressed forms. Throws where the value is not what the contract says. */
  write(name: ResourceName, params: Readonly<Record<string, string>>, value: unknown): Promise<void>;
  /** Writes a script and its compressed forms. */
  writeScript(name: ResourceName, params: Readonly<Record<string, string>>, script: string): Promise<void>;
  /** Copies a media file. */
  copyMedia(path: string, from: string): Promise<void>;
  /** Makes the release whole and then current, in one step each; answers its manifest. */
  publish(counts: Manifest['counts'], nextChangeAt: string | null): Promise<Manifest>;
  /** Removes all that was written. */
  discard(): Promise<void>;
}

const compress = {
  gzip: promisify(gzip),
  brotli: promisify(brotliCompress),
};
const levels: Record<Compression, { gzip: number; brotli: number }> = {
  fast: { gzip: 6, brotli: 5 },
  best: { gzip: 9, brotli: 11 },
};
/** A new name for a folder in the making, or in removal; it says which process of which machine works there. */
export function stageName(): string {
  return `.stage-${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`;
}

/** Begins a release below `out`, and removes what builds that were killed have left there. */
export async function createStage(out: string, compression: Compression): Promise<Stage> {
  const releases = join(out, 'releases');
  await mkdir(releases, { recursive: true });
  await removeAbandoned(releases);
  const root = join(releases, stageName());
  const files = new Map<string, Manifest['files'][string]>();
  const folders = new Set<string>();

  const put = async (file: string, bytes: Buffer): Promise<void> => {
    const path = join(root, file);
    const folder = dirname(path);
    if (!folders.has(folder)) await mkdir(folder, { recursive: true });
    folders.add(folder);
    await writeSynced(path, bytes);
    files.set(file, { bytes: bytes.length, sha256: hash('sha256', bytes) });
  };

  const putText = async (file: string, text: string): Promise<void> => {
    const bytes = Buffer.from(text);
    const level = levels[compression];
    const [gz, br] = await Promise.all([
      compress.gzip(bytes, { level: level.gzip }),
      compress.brotli(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: level.brotli,
          [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        },
      }),
    ]);
    await put(file, bytes);
    await put(`${file}.gz`, gz);
    await put(`${file}.br`, br);
  };

  return {
    async write(name, params, value) {
      const resource: Resource = resources[name];
      await putText(fillTemplate(resource.file, params), `${JSON.stringify(resource.schema?.parse(value))}\n`);
    },

    writeScript: (name, params, script) => putText(fillTemplate(resources[name].file, params), script),

    async copyMedia(path, from) {
      await put(fillTemplate(resources.media.file, { path }), await readFile(from));
    },

    async publish(counts, nextChangeAt) {
      const sorted = Object.fromEntries([...files].toSorted(([a], [b]) => compareText(a, b)));
      const body = { contractVersion, compression, counts, nextChangeAt, files: sorted };
      const manifest: Manifest = { id: hash('sha256', idSource(body)).slice(0, 16), ...body };
      await writeSynced(join(root, 'manifest.json'), Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`));
      await moveIntoPlace(root, join(releases, manifest.id));
      await makeCurrent(out, manifest.id);
      return manifest;
    },

    discard: () => rm(root, { recursive: true, force: true }),
  };
}

/** A stand-in for a release that checks what it is given and writes nothing. */
export function createDryStage(): Stage {
  return {
    async write(name, _, value) {
      (resources[name] as Resource).schema?.parse(value);
    },
    writeScript: async () => {},
    copyMedia: async () => {},
    publish: () => Promise.reject(new Error('a dry stage cannot be published')),
    discard: async () => {},
  };
}

/** Makes a release the current one, in one atomic step: a reader sees the old or the new one. */
export async function makeCurrent(out: string, id: string): Promise<void> {
  const link = join(out, 'releases', stageName());
  await symlink(join('releases', id), link);
  await rename(link, join(out, 'current'));
}

/** The id of the current release below `out`, or undefined where there is none. */
export async function readCurrent(out: string): Promise<string | undefined> {
  return readlink(join(out, 'current')).then(
    (target) => target.split('/').at(-1),
    () => undefined,
  );
}

/** Reads the manifest of a release and proves every byte of it. Throws an error that names the first wrong file. */
export async function verifyRelease(directory: string): Promise<Manifest> {
  const manifest = Manifest.parse(JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')));
  const changed = hash('sha256', idSource(manifest)).slice(0, 16) !== manifest.id;
  if (changed || manifest.id !== basename(await realpath(directory))) throw new Error('manifest.json has been changed');
  for (const [file, { bytes, sha256 }] of Object.entries(manifest.files)) {
    const content = await readFile(join(directory, file));
    if (content.length !== bytes || hash('sha256', content) !== sha256) throw new Error(`${file} has been changed`);
  }
  return manifest;
}

async function moveIntoPlace(stage: string, release: string): Promise<void> {
  const now = new Date();
  if (!existsSync(release)) {
    await rename(stage, release).catch(async (error: NodeJS.ErrnoException) => {
      // Another build of the same input was faster; its release holds the same.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      await rm(stage, { recursive: true });
    });
  } else if (await isSound(release)) {
    await rm(stage, { recursive: true });
  } else {
    const old = join(dirname(release), stageName());
    await rename(release, old);
    await rename(stage, release);
    await rm(old, { recursive: true });
  }
  await utimes(release, now, now);
}

/** Whether a release is whole: one that is stays as it is, also where its compressed forms came from another zlib. */
async function isSound(release: string): Promise<boolean> {
  return verifyRelease(release).then(
    () => true,
    () => false,
  );
}

/** Bytes that must have reached the disk before the release that names them can be seen. */
async function writeSynced(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
}

const abandonedAfterMs = 24 * 60 * 60 * 1000;

/** Removes the stages of builds that no longer run: of this machine by their process, of others by their age. */
async function removeAbandoned(releases: string): Promise<void> {
  for (const name of readdirSync(releases)) {
    const [, host, pid] = /^\.stage-(.+)-(\d+)-[0-9a-f]+$/.exec(name) ?? [];
    if (host === undefined) continue;
    const path = join(releases, name);
    const abandoned = host === hostname() ? !isRunning(Number(pid)) : ageOf(path) > abandonedAfterMs;
    if (abandoned) await rm(path, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function ageOf(path: string): number {
  return Date.now() - (lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
}
