import { hash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What a build's result depends on beside its sources and options: the code of the generator, the versions of its
 * libraries, and the version of Node.js, whose zlib compresses. The same on every machine.
 */
export function fingerprint(): string {
  return (known ??= compute());
}

let known: string | undefined;

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
