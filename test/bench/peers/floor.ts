// node floor.ts CONTENT OUT: reads the articles and writes a JSON file for each, as no build can do with less.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [content, out] = process.argv.slice(2) as [string, string];
for (const path of globSync('{blog,knowledgebase}/*/*.md', { cwd: content })) {
  const body = readFileSync(join(content, path), 'utf8');
  const file = join(out, `${path.slice(0, -'.md'.length)}.json`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ path, body, html: body }));
}
