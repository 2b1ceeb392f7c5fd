import { hash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A hash of everything else that a build depends on: the generator's code, the versions of its libraries, and the version
 * of Node.js, which includes zlib. It is the same on every machine.
 */
export function fingerprint(): string {
  return (cached ??= compute());
}

let cached: string | undefined;

function compute(): string {
  const root = import.meta.dirname;
  const code = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((file) => [file.slice(root.length), readFileSync(file, 'utf8')]);
  const libraries = readFileSync(join(root, '../package-lock.json'), 'utf8');
  return hash('sha256', JSON.stringify([process.version, libraries, code]));
}
