// node plain.ts CONTENT OUT: the shortest program for this work, with one thread and no checks.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import glob from 'fast-glob';
import matter from 'gray-matter';
import rehypeSanitize from 'rehype-sanitize';
import rehypeSlug from 'rehype-slug';
import rehypeStringify from 'rehype-stringify';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import remarkRehype from 'remark-rehype';
import { unified } from 'unified';

const [content, out] = process.argv.slice(2) as [string, string];
const processor = unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(remarkRehype)
  .use(rehypeSlug)
  .use(rehypeSanitize)
  .use(rehypeStringify)
  .freeze();

const lists = new Map<string, object[]>();
for (const path of glob.sync('{blog,knowledgebase}/*/*.md', { cwd: content }).toSorted()) {
  const { data, content: body } = matter(readFileSync(join(content, path), 'utf8'), {});
  const [folder, category] = path.split('/');
  const item = { ...data, path: `/${path.slice(0, -'.md'.length)}`, category };
  write(`${item.path}.json`, { ...item, body, html: String(processor.processSync(body)) });
  for (const name of [folder!, `${folder}/${category}`]) lists.set(name, [...(lists.get(name) ?? []), item]);
}
for (const [name, items] of lists) write(`lists/${name}.json`, items);

function write(path: string, value: unknown): void {
  const file = join(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(value));
}
