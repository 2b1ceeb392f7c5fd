import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rendered } from './markdown.ts';

type Render = (markdown: string, sitePath: string) => Rendered;

/** A renderer that remembers what it rendered in earlier builds. */
export interface RenderCache {
  readonly render: Render;
  /** Removes what this build did not use. */
  prune(): void;
}

/**
 * Wraps a renderer with a cache on disk. An entry is named after everything the result depends on: the Markdown, the
 * path of the article, and the code of the generator with the versions of its libraries. An entry that does not
 * prove itself by its own checksum is rendered anew.
 */
export function createRenderCache(directory: string, render: Render): RenderCache {
  const pipeline = fingerprint();
  const used = new Set<string>();
  mkdirSync(directory, { recursive: true });
  return {
    render(markdown, sitePath) {
      const name = hash('sha256', JSON.stringify([pipeline, sitePath, markdown]));
      used.add(name);
      const file = join(directory, name);
      const known = read(file);
      if (known) return known;
      const rendered = render(markdown, sitePath);
      write(file, rendered);
      return rendered;
    },
    prune() {
      for (const name of readdirSync(directory)) {
        if (!used.has(name)) rmSync(join(directory, name), { force: true });
      }
    },
  };
}

function read(file: string): Rendered | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    const json = text.slice(65);
    return text.startsWith(`${hash('sha256', json)}\n`) ? (JSON.parse(json) as Rendered) : undefined;
  } catch {
    return undefined;
  }
}

function write(file: string, rendered: Rendered): void {
  const json = JSON.stringify(rendered);
  const temporary = `${file}.${process.pid}`;
  try {
    writeFileSync(temporary, `${hash('sha256', json)}\n${json}`);
    renameSync(temporary, file);
  } catch {
    // A cache that cannot be written costs time, never a build.
    rmSync(temporary, { force: true });
  }
}

function fingerprint(): string {
  const folders = [import.meta.dirname, join(import.meta.dirname, 'plugins')];
  const code = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.ts'))
      .toSorted()
      .map((name) => readFileSync(join(folder, name), 'utf8')),
  );
  const libraries = readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8');
  return hash('sha256', JSON.stringify([process.version, libraries, code]));
}
