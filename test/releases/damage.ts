import { hash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { renderManifest, toReleaseId } from '#common/manifest.ts';
import type { Manifest } from '#contract/release.ts';

/** A kind of damage, and the file to be named by the error. */
export interface Damage {
  readonly name: string;
  readonly file: string;
  /** Damages the release in a folder; returns its new folder if it was renamed. */
  readonly apply: (release: string) => string | void;
}

const everyKind = [
  'public/v1/blog/article/news/first.json',
  'public/v1/blog/article/news/second.json.gz',
  'public/v1/kb/article/vps/ssh.json.br',
  'public/v1/blog/list.json',
  'public/v1/plans.json',
  'public/v1/openapi.json',
  'public/media/kb/map.svg',
  'private/domains.json',
  'public/schemas/blog.json',
  'manifest.json',
];

/** A status file with a time zone that this Node.js does not support. */
const unsupportedTimeZone = {
  monitors: [{ name: 'Website', url: 'https://www.example.com' }],
  maintenance: [
    {
      title: 'Move',
      monitors: ['Website'],
      start: '2026-12-01T22:00',
      end: '2026-12-02T02:00',
      timezone: 'Mars/Olympus',
    },
  ],
};

/** Damages one file, which the error names. */
const harm = (name: string, file: string, change: (path: string) => void): Damage => ({
  name,
  file,
  apply: (release) => change(join(release, file)),
});

const plans = 'public/v1/plans.json';

/** Every kind of damage to a release. */
export const damages: readonly Damage[] = [
  // Damage near the start of a manifest is reported as the manifest; a wrong digest as its file.
  ...everyKind.map((file) =>
    harm(`${file} has one wrong byte`, file, (path) => flip(path, file === 'manifest.json' ? 0.01 : 0.5)),
  ),
  harm('the first byte is wrong', plans, (path) => flip(path, 0)),
  harm('the last byte is wrong', plans, (path) => flip(path, 1)),
  ...[plans, 'public/v1/kb/list.json.gz', 'public/media/covers/cover.svg', 'manifest.json'].map((file) =>
    harm(`${file} is missing`, file, (path) => rmSync(path)),
  ),
  harm('a file is cut', 'public/v1/kb/list.json', (path) => truncateSync(path, 10)),
  harm('a file is empty', 'public/media/kb/map.svg', (path) => truncateSync(path)),
  harm('a file is longer', plans, (path) => writeFileSync(path, ' ', { flag: 'a' })),
  harm('two files are mixed up', 'public/v1/blog/article/news/first.json', (path) =>
    copyFileSync(join(dirname(path), 'second.json'), path),
  ),
  harm('the manifest is not JSON', 'manifest.json', (path) => writeFileSync(path, '{"id":')),
  harm('the manifest is another JSON', 'manifest.json', (path) => writeFileSync(path, '[]')),
  harm('the manifest is empty', 'manifest.json', (path) => writeFileSync(path, '')),
  harm('the manifest leaves a file out', 'manifest.json', (path) => {
    const manifest = read(dirname(path));
    const { [plans]: _, ...files } = manifest.files;
    writeFileSync(path, renderManifest({ ...manifest, files }));
  }),
  ...['private/domains.json', 'private/status.json', 'private/aliases.json', plans].flatMap((file) =>
    ['{"tlds":', '{"unknown":{}}', '[]'].map((content) => ({
      name: `${file} is ${content}, as the manifest has it`,
      file,
      apply: replaceConsistently(file, content),
    })),
  ),
  {
    name: 'maintenance is planned in a time zone that this machine does not know',
    file: 'private/status.json',
    apply: replaceConsistently('private/status.json', JSON.stringify(unsupportedTimeZone)),
  },
  ...['private/domains.json', 'private/aliases.json', plans, 'public/v1/blog/list.json'].map((file) => ({
    name: `${file} is missing, and the manifest agrees`,
    file,
    apply: (release: string) => {
      const { [file]: _, ...files } = read(release).files;
      return seal(release, files);
    },
  })),
  {
    name: 'another version of the contract is followed',
    file: 'manifest.json',
    apply: (release) => seal(release, read(release).files, '1.0.0'),
  },
];

/** Flips one bit of a byte, at a fraction of the file: 0 is the first byte, 1 the last. */
export function flip(path: string, at: number): void {
  flipBit(path, Math.round(at * (statSync(path).size - 1)));
}

/** Flips one bit of a byte, in place. */
export function flipBit(path: string, at: number): void {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  writeSync(file, Buffer.from([byte[0]! ^ 1]), 0, 1, at);
  closeSync(file);
}

/** Replaces a file and its manifest entry: digests match, but the content is invalid. */
function replaceConsistently(file: string, content: string): (release: string) => string {
  return (release) => {
    writeFileSync(join(release, file), content);
    const entry = { bytes: content.length, sha256: hash('sha256', content) };
    return seal(release, { ...read(release).files, [file]: entry });
  };
}

function read(release: string): Manifest {
  return JSON.parse(readFileSync(join(release, 'manifest.json'), 'utf8')) as Manifest;
}

/** Writes a manifest for the files, and renames the folder to the matching id. */
function seal(release: string, files: Manifest['files'], contractVersion?: string): string {
  const manifest = read(release);
  const body = { ...manifest, files, contractVersion: contractVersion ?? manifest.contractVersion };
  const id = toReleaseId(body);
  writeFileSync(join(release, 'manifest.json'), renderManifest({ ...body, id }));
  const sealed = join(dirname(release), id);
  renameSync(release, sealed);
  return sealed;
}
