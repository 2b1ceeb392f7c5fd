import { hash } from 'node:crypto';
import type { ContentItem } from '#contract/blog.ts';
import type { Stage } from '../../release/stage.ts';
import type { Article } from '../article.ts';
import { articleIndex } from './article-index.ts';
import { authors } from './authors.ts';
import { categories } from './categories.ts';
import { feed } from './feed.ts';
import { redirects } from './redirects.ts';
import type { SideFile, SideFileInput } from './side-file.ts';
import { sitemap } from './sitemap.ts';

/** Side files that are made from what {@link hashInput} hashes. */
const ofMetadata: readonly SideFile[] = [categories, articleIndex, authors, sitemap, redirects];

/** Side files that also contain texts of articles. */
const ofTexts: readonly SideFile[] = [feed];

/** The side files of a release that are made from the metadata of its articles. */
export interface SideFilesRecord {
  /** A hash of what they are made from. */
  readonly input: string;
  readonly files: readonly string[];
}

/**
 * Writes the side files of a release. Those that are made from metadata are reused from the previous release if their
 * input is the same, which it is after most edits. Returns the record of them, for the next release.
 */
export async function writeSideFiles(
  input: SideFileInput,
  stage: Stage,
  previous: SideFilesRecord | undefined,
): Promise<SideFilesRecord> {
  const create = async (sideFiles: readonly SideFile[]) =>
    (await Promise.all(sideFiles.map(async (sideFile) => sideFile(input)))).flat();
  for (const { file, text } of await create(ofTexts)) await stage.write(file, Buffer.from(text));
  const hashed = hashInput(input);
  const reused = new Set(previous?.input === hashed ? previous.files.filter((file) => stage.reuse(file)) : []);
  if (previous && previous.input === hashed && reused.size === previous.files.length) return previous;
  const created = await create(ofMetadata);
  for (const { file, text } of created) if (!reused.has(file)) await stage.write(file, Buffer.from(text));
  return { input: hashed, files: created.map(({ file }) => file) };
}

function hashInput({ blog, knowledgeBase, aliases, authors: entries, urls }: SideFileInput): string {
  const parts = [blog.map(toInput), knowledgeBase.map(toInput), aliases, entries, urls.site, urls.service];
  return hash('sha256', JSON.stringify(parts));
}

function toInput({ path, metadata: { category, tags, updated, due, item } }: Article): unknown[] {
  return [path, category, tags, updated, due, (item as Partial<ContentItem>).author];
}
