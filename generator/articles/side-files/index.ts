import { articleIndex } from './article-index.ts';
import { authors } from './authors.ts';
import { categories } from './categories.ts';
import { feed } from './feed.ts';
import { redirects } from './redirects.ts';
import type { SideFile, SideFileInput, TextFile } from './side-file.ts';
import { sitemap } from './sitemap.ts';

const sideFiles: readonly SideFile[] = [categories, articleIndex, authors, feed, sitemap, redirects];

/** Creates all side files of a release. */
export async function toSideFiles(input: SideFileInput): Promise<TextFile[]> {
  return (await Promise.all(sideFiles.map(async (create) => create(input)))).flat();
}
