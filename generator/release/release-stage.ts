import { hash } from 'node:crypto';
import { copyFileSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import type { BrotliOptions } from 'node:zlib';
import pLimit from 'p-limit';
import { contractVersion } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';
import { fileOf } from '#contract/resources.ts';
import { renderManifest, toReleaseId } from '../common/manifest.ts';
import { stageName } from './current.ts';
import type { FormerRelease } from './former-release.ts';
import { makeCurrent } from './history.ts';
import { inTurn } from './lock.ts';
import { flush, moveIntoPlace, removeAbandoned } from './publish.ts';
import { toJsonText } from './stage.ts';
import type { Stage } from './stage.ts';

/** How hard files are compressed: `fast` costs less than rendering does, `best` is for a CDN's last percent. */
export type Compression = Manifest['compression'];

/** Both compressed forms of a file. */
interface Forms {
  readonly gz: Buffer;
  readonly br: Buffer;
}

/** At `best`, this is most of a build, and worth the threads of libuv; more at a time would only take memory. */
const turn = pLimit(4);
const inThreads = { gzip: promisify(gzip), brotli: promisify(brotliCompress) };

const compress: Record<Compression, (bytes: Buffer) => Forms | Promise<Forms>> = {
  // To hand a short file to another thread and take it back costs more than to compress it.
  fast: (bytes) => ({ gz: gzipSync(bytes, { level: 6 }), br: brotliCompressSync(bytes, toBrotliOptions(bytes, 5)) }),
  best: (bytes) =>
    turn(async () => ({
      gz: await inThreads.gzip(bytes, { level: 9 }),
      br: await inThreads.brotli(bytes, toBrotliOptions(bytes, 11)),
    })),
};

function toBrotliOptions(bytes: Buffer, quality: number): BrotliOptions {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  };
}

/**
 * Begins a release below `out`, and removes what builds that were killed have left there. Files that are as they were
 * in the `former` release are not compressed and written again but linked. Nothing can be seen before it is published.
 */
export async function createReleaseStage(
  out: string,
  compression: Compression,
  former: FormerRelease | undefined,
): Promise<Stage> {
  const releases = join(out, 'releases');
  await mkdir(releases, { recursive: true });
  await removeAbandoned(releases);
  const root = join(releases, stageName());
  const files = new Map<string, Manifest['files'][string]>();
  const folders = new Set<string>();

  const pathOf = (file: string): string => {
    const path = join(root, file);
    const folder = dirname(path);
    if (!folders.has(folder)) mkdirSync(folder, { recursive: true });
    folders.add(folder);
    return path;
  };

  const put = (file: string, bytes: Buffer, sha256 = hash('sha256', bytes)): void => {
    writeFileSync(pathOf(file), bytes, { flag: 'wx' });
    files.set(file, { bytes: bytes.length, sha256 });
  };

  const takeOver = (file: string): boolean => {
    const forms = former?.formsOf(file) ?? [];
    try {
      for (const [form] of forms) linkOrCopy(join(former!.directory, form), pathOf(form));
    } catch {
      // The former release is being removed: what it had is made anew.
      for (const [form] of forms) rmSync(pathOf(form), { force: true });
      return false;
    }
    for (const [form, entry] of forms) files.set(form, entry);
    return forms.length > 0;
  };

  const putText = async (file: string, text: string): Promise<void> => {
    const bytes = Buffer.from(text);
    const sha256 = hash('sha256', bytes);
    if (former?.manifest.files[file]?.sha256 === sha256 && takeOver(file)) return;
    put(file, bytes, sha256);
    const { gz, br } = await compress[compression](bytes);
    put(`${file}.gz`, gz);
    put(`${file}.br`, br);
  };

  return {
    write: (name, params, value) => putText(fileOf(name, params), toJsonText(name, value)),

    writeScript: (name, params, script) => putText(fileOf(name, params), script),

    async writeMedia(path, sha256, read) {
      const file = fileOf('media', { path });
      if (former?.manifest.files[file]?.sha256 === sha256 && takeOver(file)) return;
      const bytes = read();
      if (bytes) put(file, bytes, sha256);
    },

    reuse: takeOver,

    async publish(counts, nextChangeAt) {
      const sorted = Object.fromEntries([...files.keys()].toSorted().map((file) => [file, files.get(file)!]));
      const body = { contractVersion, compression, counts, nextChangeAt, files: sorted };
      const manifest: Manifest = { id: toReleaseId(body), ...body };
      await inTurn(out, async () => {
        await moveIntoPlace(root, join(releases, manifest.id), async () => {
          put('manifest.json', Buffer.from(renderManifest(manifest)));
          await flush(root, [...files.keys()]);
        });
        await makeCurrent(out, manifest.id);
      });
      return manifest;
    },

    discard: () => rm(root, { recursive: true, force: true }),
  };
}

/** Some file systems know no hard links, and all have a limit for one file. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
