import { hash } from 'node:crypto';
import { toJsonText } from '#contract/static-files.ts';
import type { Render } from '../markdown/renderer.ts';
import type { Compression, Compressor, Encodings } from '../release/compress.ts';
import type { Stage } from '../release/stage.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { placeOf } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import { addressOf, openCategory, parseArticle, renderBody, toArticle } from './article.ts';
import type { Article, Schedule, OpenedArticle, OpenedCategory } from './article.ts';
import type { ArticleCache, ArticleKey } from './cache.ts';
import type { CategoryFolder, Content } from './content.ts';
import { mapInOrder } from './in-order.ts';
import type { PictureSizes } from './media.ts';
import { toMetadata } from './metadata.ts';
import type { ArticleMetadata, EncodingHashes } from './metadata.ts';
import { fillSizes, hasCurrentSizes } from './picture-sizes.ts';

/** Options of {@link compileArticles} and {@link writeArticles}. */
export interface ArticlesOptions extends Schedule {
  readonly diagnostics: Diagnostics;
  readonly render: Render;
  readonly cache: ArticleCache;
  /** The sizes of the pictures in content/media/. */
  readonly pictures: PictureSizes;
  /** Compresses the files of articles; left out if articles are only checked. */
  readonly compressor?: Compressor | undefined;
  /** Called after each compiled article. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/** Articles in progress at a time: enough for several threads, few enough to fit in memory. */
const concurrency = 48;

/**
 * Compiles the articles of content/, in the order of their files. Unchanged articles come from the cache; the others are
 * rendered and added to it. Reports and omits articles that cannot be compiled.
 */
export async function compileArticles({ categories }: Content, options: ArticlesOptions): Promise<Article[]> {
  const { cache, compressor, diagnostics, pictures, progress } = options;
  const total = categories.reduce((sum, { articles }) => sum + articles.length, 0);
  const readCached = (folder: CategoryFolder, file: SourceFile): ArticleMetadata | undefined => {
    const cached = cache.read(toKey(folder, file));
    if (cached && !hasCurrentSizes(cached, pictures)) return undefined;
    return !compressor || cached?.encodings?.compression === compressor.name ? cached : undefined;
  };
  const articles: (Article | undefined)[] = [];
  let done = 0;
  // One category at a time, so that the texts of all articles are never in memory together.
  function* openUncached(): Generator<{ index: number; category: OpenedCategory; opened: OpenedArticle }> {
    for (const folder of categories) {
      const category = openCategory(folder, (file) => readCached(folder, file), diagnostics);
      for (const opened of category.articles) {
        const { file, cached } = opened;
        const isCached = cached?.category === category.name;
        const index = articles.push(isCached ? toArticle(folder, file, cached, options) : undefined) - 1;
        if (isCached) done += 1;
        else yield { index, category, opened };
      }
    }
  }
  const compiling = mapInOrder(openUncached(), concurrency, async ({ index, category, opened }) => {
    articles[index] = (await compileArticle(category, opened.file, opened.parsed, options))?.article;
  });
  for await (const _ of compiling) progress?.((done += 1), total);
  const compiled = articles.filter((article) => article !== undefined);
  for (const article of compiled) reportFindings(article, diagnostics);
  return compiled;
}

/** Reports the probable mistakes in an article, which may be cached. */
function reportFindings({ file, metadata }: Article, diagnostics: Diagnostics): void {
  for (const { severity, message, hint, line, column } of metadata.findings) {
    diagnostics[severity](placeOf(file, line, column), message, hint);
  }
}

/** Writes the files of the included articles into a stage; reuses those of the previous release. */
export async function writeArticles(
  articles: readonly Article[],
  stage: Stage,
  options: ArticlesOptions,
): Promise<void> {
  const missing = articles.filter(
    ({ isIncluded, output, metadata }) => isIncluded && !stage.reuse(output, metadata.encodings!.identity),
  );
  const writing = mapInOrder(missing, concurrency, async (article) => {
    const encodings = await readEncodings(article, options);
    if (encodings) stage.writeEncodings(article.output, encodings);
  });
  for await (const _ of writing);
}

/** The text of an article, as its file in the release has it. */
export interface ArticleText {
  /** Markdown. */
  readonly body: string;
  readonly html: string;
}

/** Reads the text of an included article. Reports it and returns undefined if its source was changed meanwhile. */
export async function readArticleText(article: Article, options: ArticlesOptions): Promise<ArticleText | undefined> {
  const encodings = await readEncodings(article, options);
  return encodings && (JSON.parse(Buffer.from(encodings.identity).toString('utf8')) as ArticleText);
}

async function readEncodings(
  { folder, file, metadata }: Article,
  options: ArticlesOptions,
): Promise<Encodings | undefined> {
  const cached = options.cache.readEncodings(toKey(folder, file), metadata);
  // Another build may have removed it from the cache, or it is damaged.
  return cached ?? (await compileArticle({ folder, name: metadata.category }, file, undefined, options))?.encodings;
}

function toKey(folder: CategoryFolder, file: SourceFile): ArticleKey {
  return { source: file.sha256, path: addressOf(folder, file).path };
}

/** A compiled article, and its file unless the article is broken or only checked. */
interface CompiledArticle {
  readonly article: Article;
  readonly encodings?: Encodings;
}

/** Renders an article and adds it to the cache. Reports its problems. */
async function compileArticle(
  category: Pick<OpenedCategory, 'folder' | 'name'>,
  file: SourceFile,
  opened: OpenedArticle['parsed'],
  options: ArticlesOptions,
): Promise<CompiledArticle | undefined> {
  const { diagnostics, render, cache, compressor, pictures } = options;
  const { folder } = category;
  const { collection } = folder;
  const { path } = addressOf(folder, file);
  const parsed = opened ?? parseArticle(file, collection, diagnostics);
  if (!parsed) return undefined;
  const rendered = await renderBody(file, parsed, (markdown) => render(markdown, path), diagnostics);
  const metadata = toMetadata({ collection, category: category.name, path }, parsed, rendered, pictures);
  const article = toArticle(folder, file, metadata, options);
  if (!parsed.frontMatter || !rendered) return { article: { ...article, state: 'broken', isIncluded: false } };
  if (!compressor) return { article };
  const html = fillSizes(rendered, pictures);
  const text = toJsonText(collection.articleFile, { ...metadata.item, body: parsed.body, html });
  const encodings = await compressor.compress(Buffer.from(text));
  const hashed = { ...metadata, encodings: toHashes(encodings, compressor.name) };
  cache.write(toKey(folder, file), hashed, encodings);
  return { article: { ...article, metadata: hashed }, encodings };
}

function toHashes({ identity, gz, br }: Encodings, compression: Compression): EncodingHashes {
  return { compression, identity: hash('sha256', identity), gz: hash('sha256', gz), br: hash('sha256', br) };
}
