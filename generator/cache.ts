import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprint } from './fingerprint.ts';
import type { Rendered } from './markdown.ts';
import type { Render } from './renderer.ts';

/** Remembers on disk what earlier builds rendered. It may be copied between machines, and shared by builds. */
export interface RenderCache {
  /** Answers what the source file of that hash became at a site path; renders it where that is not known. */
  render(source: string, sitePath: string, markdown: string): Promise<Rendered>;
  /** Removes all but what the source files of those hashes became at those site paths. */
  prune(articles: Iterable<readonly [source: string, sitePath: string]>): void;
}

/**
 * Opens the cache in a folder; without one, nothing is remembered. An entry is named after everything that the result
 * depends on: the source file, the path of the article, and the fingerprint of the generator. One that does not prove
 * itself by its own checksum is rendered anew.
 */
export function openRenderCache(directory: string | undefined, render: Render): RenderCache {
  if (directory === undefined) return { render: (_, sitePath, markdown) => render(markdown, sitePath), prune() {} };
  const pipeline = fingerprint();
  const toName = (source: string, sitePath: string): string => hash('sha256', `${pipeline} ${source} ${sitePath}`);
  mkdirSync(directory, { recursive: true });
  return {
    async render(source, sitePath, markdown) {
      const file = join(directory, toName(source, sitePath));
      const known = read(file);
      if (known) return known;
      const rendered = await render(markdown, sitePath);
      write(file, rendered);
      return rendered;
    },
    prune(articles) {
      const used = new Set(Array.from(articles, ([source, sitePath]) => toName(source, sitePath)));
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
  try {
    writeFileSync(file, `${hash('sha256', json)}\n${json}`);
  } catch {
    // A cache that cannot be written costs time, never a build; what was written in part does not prove itself.
  }
}
