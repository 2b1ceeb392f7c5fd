import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import GithubSlugger from 'github-slugger';
import { expect, test } from 'vitest';
import { listSettings } from '../../server/env.ts';

const root = resolve(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/*.md', 'content/README.md', 'catalog/README.md', 'examples/**/*.md'], {
  cwd: root,
});
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

const examples = globSync('examples/**/*.{ts,py}', { cwd: root }).map(read).join('\n');
/** Environment variables of the examples. */
const exampleSettings = [...examples.matchAll(/(?:process\.env\.|environ\.get\(")([A-Z_]+)/g)].map(([, name]) => name!);

/** Lists the anchors of a page's headings. */
function anchorsOf(file: string): string[] {
  const slugger = new GithubSlugger();
  return [...read(file).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => slugger.slug(heading!.replaceAll('`', '')));
}

test.each(pages)('%s links only to existing files and headings', (page) => {
  const text = read(page).replaceAll(/```[^]*?```|`[^`\n]*`/g, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  const dead = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    return !existsSync(join(root, file)) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
  });
  expect(dead).toEqual([]);
});

test.each(pages)('%s mentions only existing scripts and settings', (page) => {
  const text = read(page);
  const named = [...text.matchAll(/\bnpm run (?:--silent )?([a-z][a-z:]*)/g)].map(([, name]) => name!);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
  if (page === 'CHANGELOG.md') return;
  const settings = new Set([...listSettings().map(({ name }) => name), ...exampleSettings]);
  const words = [...text.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g)].map(([, name]) => name!);
  const unknown = words.filter((word) => !settings.has(word.replace(/_FILE$/, '')) && !settings.has(word));
  expect(unknown).toEqual([]);
});
