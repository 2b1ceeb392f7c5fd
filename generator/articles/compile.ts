import { hash } from 'node:crypto';
import { toJsonText } from '#contract/resources.ts';
import type { Render } from '../markdown/renderer.ts';
import type { Compression, Compressor, Forms } from '../release/compress.ts';
import type { Stage } from '../release/stage.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import type { SourceFile } from '../source/load.ts';
import { addressOf, openCategory, parseArticle, renderBody, toArticle, toOutline } from './article.ts';
import type { Article, FormHashes, OpenedArticle, OpenedCategory, Outline } from './article.ts';
import type { ArticleCache, ArticleKey } from './cache.ts';
import type { CategoryFolder, Content } from './content.ts';
import { mapInOrder } from './in-order.ts';

/** With what articles are compiled. */
export interface ArticlesOptions {
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  readonly diagnostics: Diagnostics;
  readonly render: Render;
  readonly cache: ArticleCache;
  /** How the files of articles are made; left out where they are only checked. */
  readonly compressor?: Compressor | undefined;
  /** Called with how many of how many articles are compiled. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/** Articles that are worked on at a time: enough to keep several threads busy, few enough to be small. */
const concurrency = 48;

/**
 * Compiles the articles of content/, in the order of their files. One that is known, and is as it was, is not rendered;
 * one that cannot be compiled is reported and left out. Their files are kept in the cache.
 */
export async function compileArticles({ categories }: Content, options: ArticlesOptions): Promise<Article[]> {
  const { cache, compressor, diagnostics, now, progress } = options;
  const total = categories.reduce((sum, { articles }) => sum + articles.length, 0);
  const read = (folder: CategoryFolder, file: SourceFile): Outline | undefined => {
    const known = cache.read(toKey(folder, file));
    return !compressor || known?.forms?.compression === compressor.name ? known : undefined;
  };
  const articles: (Article | undefined)[] = [];
  let done = 0;
  // One category after the other, so that the texts of all are never in memory at once.
  function* openUnknown(): Generator<{ place: number; category: OpenedCategory; opened: OpenedArticle }> {
    for (const folder of categories) {
      const category = openCategory(folder, (file) => read(folder, file), diagnostics);
      for (const opened of category.articles) {
        const { file, known } = opened;
        const isKnown = known?.category === category.name;
        const place = articles.push(isKnown ? toArticle(folder, file, known, now) : undefined) - 1;
        if (isKnown) done += 1;
        else yield { place, category, opened };
      }
    }
  }
  const compiling = mapInOrder(openUnknown(), concurrency, async ({ place, category, opened }) => {
    articles[place] = (await makeArticle(category, opened.file, opened.parsed, options))?.article;
  });
  for await (const _ of compiling) progress?.((done += 1), total);
  return articles.filter((article) => article !== undefined);
}

/** Writes the files of published articles into a stage, those that are not in the release before. */
export async function writeArticles(
  articles: readonly Article[],
  stage: Stage,
  options: ArticlesOptions,
): Promise<void> {
  const missing = articles.filter(
    ({ state, output, outline }) => state === 'published' && !stage.takeOver(output, outline.forms!.identity),
  );
  const writing = mapInOrder(missing, concurrency, async ({ folder, file, output, outline }) => {
    const kept = options.cache.readForms(toKey(folder, file), outline);
    // It may have been removed by another build, or be damaged.
    const forms = kept ?? (await makeArticle({ folder, name: outline.category }, file, undefined, options))?.forms;
    if (forms) stage.writeForms(output, forms);
  });
  for await (const _ of writing);
}

function toKey(folder: CategoryFolder, file: SourceFile): ArticleKey {
  return { source: file.sha256, path: addressOf(folder, file).path };
}

/** What an article became, and its file: one without sound front matter has none, and one that is only checked. */
interface Made {
  readonly article: Article;
  readonly forms?: Forms;
}

/** Renders an article, and keeps it in the cache. Reports what is wrong with it. */
async function makeArticle(
  category: Pick<OpenedCategory, 'folder' | 'name'>,
  file: SourceFile,
  opened: OpenedArticle['parsed'],
  { now, diagnostics, render, cache, compressor }: ArticlesOptions,
): Promise<Made | undefined> {
  const { folder } = category;
  const { collection } = folder;
  const { path } = addressOf(folder, file);
  const parsed = opened ?? parseArticle(file, collection, diagnostics);
  const rendered = parsed && (await renderBody(file, parsed, (markdown) => render(markdown, path), diagnostics));
  if (!rendered) return undefined;
  const outline = toOutline(category, file, parsed, rendered);
  const article = toArticle(folder, file, outline, now);
  if (!parsed.frontMatter) return { article: { ...article, state: 'broken' } };
  if (!compressor) return { article };
  const text = toJsonText(collection.articleResource, { ...outline.item, body: parsed.body, html: rendered.html });
  const forms = await compressor.compress(Buffer.from(text));
  const kept = { ...outline, forms: toHashes(forms, compressor.name) };
  cache.write(toKey(folder, file), kept, forms);
  return { article: { ...article, outline: kept }, forms };
}

function toHashes({ identity, gz, br }: Forms, compression: Compression): FormHashes {
  return { compression, identity: hash('sha256', identity), gz: hash('sha256', gz), br: hash('sha256', br) };
}
