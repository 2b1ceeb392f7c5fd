import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MediaPath, Slug } from '#contract/primitives.ts';
import { sources } from '#contract/endpoints.ts';
import { stringify } from 'yaml';
import { adviseAuthor } from '../articles/checks.ts';
import { blog, collections, knowledgeBase, toTitleCase } from '../articles/content.ts';
import { CommandError } from '../common/command-line.ts';
import { createFolder } from '../common/files.ts';
import { didYouMean } from '../common/suggest.ts';
import { printLine } from '../common/terminal.ts';
import { parseYaml } from '../common/yaml.ts';
import { displayPath } from '../source/load.ts';
import { toSlug } from '../source/slug.ts';
import { authorsFile, renderTemplate } from '../source/yaml.ts';
import { resolveFolder } from './settings.ts';
import type { NewFlags } from './settings.ts';

const kinds = new Map([
  ...collections.map((collection) => [collection.folder, collection] as const),
  ['kb', knowledgeBase],
]);

/** Runs `new`: writes a draft with complete front matter. Prints the path on stdout, and hints on stderr. */
export function runNew(kind: string, words: readonly string[], flags: NewFlags): void {
  const collection = kinds.get(kind);
  if (!collection) {
    const names = [...kinds.keys()];
    const similar = didYouMean(kind, names);
    throw new CommandError(`"${kind}" is not a kind of article${similar}; use one of ${names.join(', ')}`);
  }
  const title = words.join(' ').replaceAll(/\s+/g, ' ').trim();
  if (title === '') throw new CommandError('the title must not be empty');
  const content = resolveFolder('CONTENT_DIR', flags.content);
  const root = join(content, collection.folder);
  const { name, isNew } = readCategory(flags, root);
  const category = join(root, name);
  const file = join(category, `${flags.slug === undefined ? makeSlug(title) : readSlug(flags.slug, '--slug')}.md`);
  if (existsSync(file)) {
    throw new CommandError(`${displayPath(file)} exists already; choose another title, or another address with --slug`);
  }
  const text = renderTemplate({ title, ...(collection === blog && toBlogFields(content, flags.author)) });

  createFolder(category);
  if (isNew) {
    const settings = join(category, 'category.yaml');
    writeFileSync(settings, stringify({ name: toTitleCase(name) }), { flag: 'wx' });
    printLine(`${displayPath(settings)} has the display name of the new category`);
  }
  // Fails if another process created the file in the meantime.
  writeFileSync(file, text, { flag: 'wx' });
  printLine('the article is a draft; see it at http://localhost:3000/preview with "npm run dev"');
  printLine('to publish the article, write the description and the text, and remove the line "draft: true"');
  process.stdout.write(`${displayPath(file)}\n`);
}

/** Reads the category; `isNew` if the category must be created. */
function readCategory({ category: name, newCategory }: NewFlags, root: string) {
  const known = listFolder(root).filter((folder) => Slug.safeParse(folder).success);
  if (name === undefined) {
    throw new CommandError(`--category is missing; the categories in ${displayPath(root)} are ${known.join(', ')}`);
  }
  if (known.includes(name)) return { name, isNew: false };
  if (newCategory) return { name: readSlug(name, '--category'), isNew: true };
  const message = `there is no category "${name}" in ${displayPath(root)}${didYouMean(toSlug(name), known)}`;
  throw new CommandError(`${message}; use one of ${known.join(', ')}, or create the category with --new-category`);
}

/** The maximum length of an address from a title; longer addresses are cut at a word. */
const maxSlugLength = 80;

function makeSlug(title: string): string {
  const slug = toSlug(title);
  if (slug === '') throw new CommandError('no address can be derived from this title; set the address with --slug');
  return slug.length <= maxSlugLength ? slug : slug.slice(0, maxSlugLength + 1).replace(/-[^-]*$/, '');
}

function readSlug(slug: string, option: string): string {
  const { success, error } = Slug.safeParse(slug);
  if (success) return slug;
  const similar = toSlug(slug);
  throw new CommandError(`${option} ${error.issues[0]!.message}${similar && ` (did you mean "${similar}"?)`}`);
}

function toBlogFields(content: string, author = readGitName(content)): Record<string, string> {
  if (author === undefined) {
    const command = 'git config --global user.name "Your Name"';
    throw new CommandError(`the author is missing; use --author, or set your name once with: ${command}`);
  }
  const list = join(content, authorsFile);
  // Problems of the list are left to `check`, which names their lines.
  const { value: authors } = isFile(list) ? parseYaml(readFileSync(list, 'utf8'), sources.authors) : {};
  if (authors && !Object.hasOwn(authors, author)) {
    const advice = adviseAuthor(author, authors) ?? 'write another name';
    printLine(`the author ${author} is not in ${displayPath(list)}, so a pull request would fail; ${advice}`);
  }
  const cover = findCover(content);
  printLine(`the cover is ${cover} for now; save your own picture in content/media/covers and set it in the article`);
  const now = new Date();
  const date = now.toISOString().slice(0, 10);
  if (now.getDate() !== now.getUTCDate())
    printLine(`the date is ${date}, which is today in UTC: builds go by that day`);
  return { date, author, cover };
}

function readGitName(folder: string): string | undefined {
  try {
    const name = execFileSync('git', ['config', 'user.name'], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
    return name.trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Finds any cover. */
function findCover(content: string): string {
  const cover = listFolder(join(content, 'media/covers'))
    .map((name) => `/media/covers/${name}`)
    .find((path) => MediaPath.safeParse(path).success && isFile(join(content, path)));
  if (cover !== undefined) return cover;
  throw new CommandError('there is no cover picture yet; save a picture in content/media/covers first');
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** Lists the names in a folder, sorted and without dot files; empty if the folder does not exist. */
function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .toSorted();
  } catch {
    return [];
  }
}
