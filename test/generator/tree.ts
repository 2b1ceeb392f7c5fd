import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { compareText } from '../../generator/source/diagnostics.ts';

/** Every regular file below a folder, by path, with its bytes in base64. */
export function readTree(root: string): Record<string, string> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files
      .map((file): [string, string] => [relative(root, file), readFileSync(file, 'base64')])
      .toSorted(([a], [b]) => compareText(a, b)),
  );
}

/** The paths that are in only one of two trees, or differ in their bytes. */
export function changedPaths(before: Record<string, string>, after: Record<string, string>): string[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...paths].filter((path) => before[path] !== after[path]).toSorted();
}
