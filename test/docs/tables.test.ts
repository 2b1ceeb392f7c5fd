import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { providerTypes } from '../../server/hosting/providers.ts';
import { ask } from '../server/ask.ts';
import { staticFiles, targetOf } from '#contract/endpoints.ts';
import type { StaticFileName } from '#contract/endpoints.ts';
import { sharedApp } from '../server/shared.ts';
import { servedFiles } from '../server/targets.ts';

const [pageFile, referenceFile] = ['cdn.md', 'reference.md'].map((name) =>
  resolve(import.meta.dirname, '../../docs', name),
) as [string, string];
const page = readFileSync(pageFile, 'utf8');
const [begin, end] = ['## URL to file mapping', '## What to purge'].map((heading) => page.indexOf(heading));
const section = page.slice(begin, end);
const table = section.slice(section.indexOf('| URL'), section.lastIndexOf('|\n') + 2);
const rows = [...table.matchAll(/^\| `([^`]+)` +\| `([^`]+)` +\|$/gm)].map(([, url = '', file = '']) => {
  const pattern = file
    .replaceAll('.', '\\.')
    .replace(/\{(\w+)\*\}/g, '(?<$1>.+)')
    .replace(/\{(\w+)\}/g, '(?<$1>[^/]+)');
  return { url, pattern: new RegExp(`^${pattern}$`) };
});

/** Looks up the URL of a file in the page's table. */
function urlOf(file: string): string | undefined {
  for (const { url, pattern } of rows) {
    const match = pattern.exec(file);
    if (match) return url.replace(/\{(\w+)\*?\}/g, (_, name: string) => match.groups![name]!);
  }
  return undefined;
}

test('each file has a URL, which the server answers with the bytes of the file', async () => {
  const app = await sharedApp();
  const folder = join(app.root, 'dist/current/public');
  const compared = new Set<string>();
  for (const served of servedFiles(app.root)) {
    const file = served.file.slice('public/'.length);
    const url = urlOf(file);
    expect({ file, url }).toEqual({ file, url: expect.any(String) });
    for (const [encoding, suffix] of Object.entries({ identity: '', gzip: '.gz', br: '.br' })) {
      const path = join(folder, file + suffix);
      if (!existsSync(path)) continue;
      const { status, headers, body } = await ask(app, url!, { headers: { 'Accept-Encoding': encoding } });
      const sent = headers['content-encoding'] ?? 'identity';
      const answer = { file, status, sent, same: body.equals(readFileSync(path)) };
      expect(answer).toEqual({ file, status: 200, sent: encoding, same: true });
      compared.add(encoding);
    }
  }
  expect(rows.length).toBeGreaterThan(20);
  expect([...compared]).toEqual(['identity', 'gzip', 'br']);
});

/** Renders a table with aligned columns, like the formatter. */
function toTable(head: readonly string[], ...body: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((row) => row[column]!.length)));
  const lines = [head, widths.map((width) => '-'.repeat(width)), ...body];
  return lines.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |\n`).join('');
}

test('the page lists the URL of each kind of file', async () => {
  const entries = (Object.keys(staticFiles) as StaticFileName[]).flatMap((name) => {
    const target = targetOf(name);
    return target === undefined ? [] : [[`\`${target}\``, `\`${staticFiles[name].file.slice('public/'.length)}\``]];
  });
  const written = toTable(['URL', 'file below `public/`'], ...entries);
  await expect(page.replace(table, () => written)).toMatchFileSnapshot(pageFile);
});

test('docs/reference.md lists every type of provider with its refs and credentials', async () => {
  const types = Object.entries(providerTypes).map(([type, { refs, secrets }]) => {
    const servers = 'kind' in refs ? { game: 'game servers', vps: 'VPS' }[refs.kind] : 'both';
    return [`\`${type}\``, servers, refs.meaning, secrets.map((name) => `\`${name}\``).join(', ')];
  });
  const text = readFileSync(referenceFile, 'utf8');
  const expected = text.replace(
    /^\| type +\| servers +\|.*\n(?:\|.*\n)+/m,
    toTable(['type', 'servers', '`--ref`', 'credentials'], ...types),
  );
  await expect(expected).toMatchFileSnapshot(referenceFile);
});
