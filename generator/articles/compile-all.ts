import { hash } from 'node:crypto';
import { fileOf, toJsonText } from '#contract/static-files.ts';
import { MarkdownError } from '../markdown/limits.ts';
import { sizePlaceholder } from '../markdown/plugins/trusted.ts';
import type { Picture } from '../markdown/plugins/trusted.ts';
import type { Rendered } from '../markdown/render.ts';
import type { Render } from '../markdown/renderer.ts';
import type { Compressor, Encodings } from '../release/compress.ts';
import type { Stage } from '../release/stage.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { parseArticle } from '../source/yaml.ts';
import type { SourceArticle } from '../source/yaml.ts';
import { placeOf, readText } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import type { PictureSizes, Size } from '../source/media.ts';
import { toMetadata } from './article.ts';
import type { Article, ArticleMetadata } from './article.ts';
import type { ArticleCache } from './cache.ts';
import type { CommonFrontMatter } from './collections/collection.ts';
import { toTitleCase } from './content.ts';
import type { CategoryFolder, Content } from './content.ts';

/** Options of {@link compileArticles} and {@link writeArticles}. */
export interface ArticlesOptions {
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  /** Includes drafts and scheduled articles: a preview. */
  readonly withUnpublished?: boolean | undefined;
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

/** An article that was opened: its metadata if it is cached, else its source. */
interface Opened {
  readonly file: SourceFile;
  readonly cached: ArticleMetadata | undefined;
  readonly source: SourceArticle<CommonFrontMatter> | undefined;
}

/**
 * Compiles the articles of content/, in the order of their files. Unchanged articles come from the cache; the others are
 * rendered and added to it. Reports and omits articles that cannot be compiled.
 */
export async function compileArticles({ categories }: Content, options: ArticlesOptions): Promise<Article[]> {
  const { cache, compressor, diagnostics, pictures, progress } = options;
  const total = categories.reduce((sum, { articles }) => sum + articles.length, 0);
  const open = (folder: CategoryFolder, file: SourceFile): Opened[] => {
    const found = cache.read(toKey(folder, file));
    const hasFile = !compressor || found?.encodings?.compression === compressor.name;
    const cached = found && hasFile && hasCurrentSizes(found, pictures) ? found : undefined;
    const source = cached ? undefined : readArticle(folder, file, diagnostics);
    return cached || source ? [{ file, cached, source }] : [];
  };
  const articles: (Article | undefined)[] = [];
  let done = 0;
  // One category at a time, so that the texts of all articles are never in memory together.
  function* openUncached() {
    for (const folder of categories) {
      const opened = folder.articles.flatMap((file) => open(folder, file));
      const category = nameOf(folder, opened, diagnostics);
      for (const { file, cached, source } of opened) {
        const isCached = cached?.category === category;
        const index = articles.push(isCached ? toArticle(folder, file, cached, options) : undefined) - 1;
        if (isCached) done += 1;
        else yield { index, folder, category, file, source };
      }
    }
  }
  await forEach(openUncached(), async ({ index, folder, category, file, source }) => {
    articles[index] = (await compileArticle(folder, category, file, source, options))?.article;
    progress?.((done += 1), total);
  });
  const compiled = articles.filter((article) => article !== undefined);
  for (const { file, metadata } of compiled) diagnostics.report(file.display, metadata.findings);
  return compiled;
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
  await forEach(missing, async (article) => {
    const encodings = await readEncodings(article, options);
    if (encodings) stage.writeEncodings(article.output, encodings);
  });
}

/** Reads the HTML of an included article. Reports it and returns undefined if its source changed during the build. */
export async function readArticleText(
  article: Article,
  options: ArticlesOptions,
): Promise<{ readonly html: string } | undefined> {
  const encodings = await readEncodings(article, options);
  return encodings && (JSON.parse(Buffer.from(encodings.identity).toString('utf8')) as { html: string });
}

/** Articles in progress at a time: enough for several threads, few enough to fit in memory. */
const concurrency = 48;

/**
 * Calls a function for each item, some at a time. Takes an item when it is its turn; p-limit would take all of them first,
 * with their texts. After an error, no call is running any more.
 */
async function forEach<Item>(items: Iterable<Item>, run: (item: Item) => Promise<void>): Promise<void> {
  const shared = Iterator.from(items);
  const work = Array.from({ length: concurrency }, async () => {
    // oxlint-disable-next-line no-await-in-loop -- Each of these loops does one thing at a time.
    for (const item of shared) await run(item);
  });
  await Promise.allSettled(work);
  await Promise.all(work);
}

async function readEncodings({ folder, file, metadata }: Article, options: ArticlesOptions) {
  const cached = options.cache.readEncodings(toKey(folder, file), metadata);
  if (cached) return cached;
  // Another build may have removed it from the cache, or it is damaged.
  return (await compileArticle(folder, metadata.category, file, undefined, options))?.encodings;
}

/** Reads and parses an article. Reports it and returns undefined if it cannot be read or split. */
function readArticle({ collection }: CategoryFolder, file: SourceFile, diagnostics: Diagnostics): Opened['source'] {
  const text = readText(file, diagnostics);
  const source = text === undefined ? undefined : parseArticle(text, collection.frontMatter);
  if (!source || 'body' in source) return source;
  diagnostics.report(file.display, [source]);
  return undefined;
}

/** The display name of a category. Reports each article that says another. */
function nameOf(folder: CategoryFolder, opened: readonly Opened[], diagnostics: Diagnostics): string {
  let { name } = folder;
  let origin = 'category.yaml';
  for (const { file, cached, source } of opened) {
    const declared = cached ? cached.declared?.text : source?.fields?.category;
    if (declared === undefined) continue;
    if (name === undefined) {
      name = declared;
      origin = file.display;
    } else if (declared !== name) {
      const { line, column } = cached?.declared ?? source!.place(['category']);
      const message = `"category" must be the same in all of ${folder.slug}/`;
      diagnostics.error(placeOf(file, line, column), message, `${origin} says "${name}"`);
    }
  }
  return name ?? toTitleCase(folder.slug);
}

/** Renders an article and adds it to the cache. It has no file if it is broken or only checked. */
async function compileArticle(
  folder: CategoryFolder,
  category: string,
  file: SourceFile,
  opened: Opened['source'],
  options: ArticlesOptions,
): Promise<{ readonly article: Article; readonly encodings?: Encodings } | undefined> {
  const { cache, compressor, diagnostics, pictures } = options;
  const { collection } = folder;
  const path = pathOf(folder, file);
  const source = opened ?? readArticle(folder, file, diagnostics);
  if (!source) return undefined;
  const rendered = await renderBody(path, file, source, options);
  const metadata = toMetadata({ collection, category, path }, source, rendered, pictures);
  const article = toArticle(folder, file, metadata, options);
  if (!source.value || !rendered) return { article: { ...article, state: 'broken', isIncluded: false } };
  if (!compressor) return { article };
  const html = fillSizes(rendered, pictures);
  const text = toJsonText(collection.articleFile, { ...metadata.item, body: source.body, html });
  const encodings = await compressor.compress(Buffer.from(text));
  const [identity, gz, br] = [encodings.identity, encodings.gz, encodings.br].map((bytes) => hash('sha256', bytes));
  const hashed = { ...metadata, encodings: { compression: compressor.name, identity: identity!, gz: gz!, br: br! } };
  cache.write(toKey(folder, file), hashed, encodings);
  return { article: { ...article, metadata: hashed }, encodings };
}

/** Renders the body of an article. Reports a body that cannot be rendered or is empty, and returns undefined for it. */
async function renderBody(
  path: string,
  file: SourceFile,
  { body, bodyLine }: NonNullable<Opened['source']>,
  { render, diagnostics }: ArticlesOptions,
): Promise<Rendered | undefined> {
  try {
    const rendered = await render(body, path);
    if (rendered.html !== '') return rendered;
    diagnostics.error(placeOf(file, bodyLine), 'the article has no text');
  } catch (error) {
    if (!(error instanceof MarkdownError)) throw error;
    diagnostics.error(placeOf(file, bodyLine + error.line - 1), error.message, error.hint);
  }
  return undefined;
}

const slugOf = ({ path }: SourceFile): string => path.slice(path.lastIndexOf('/') + 1, -'.md'.length);
const pathOf = ({ collection, slug }: CategoryFolder, file: SourceFile): string =>
  `/${collection.folder}/${slug}/${slugOf(file)}`;
const toKey = (folder: CategoryFolder, file: SourceFile) => ({ source: file.sha256, path: pathOf(folder, file) });

function toArticle(
  folder: CategoryFolder,
  file: SourceFile,
  metadata: ArticleMetadata,
  { now, withUnpublished = false }: ArticlesOptions,
): Article {
  const { draft, due } = metadata;
  const state = draft ? 'draft' : due !== undefined && due > now ? 'scheduled' : 'published';
  const output = fileOf(folder.collection.articleFile, { category: folder.slug, slug: slugOf(file) });
  const isIncluded = withUnpublished || state === 'published';
  return { folder, file, path: pathOf(folder, file), output, state, isIncluded, metadata };
}

/** Fills the sizes of its pictures into the HTML of an article, so that a page does not move when they are loaded. */
function fillSizes({ html, pictures }: Rendered, sizes: PictureSizes): string {
  const [start = '', ...rest] = html.split(sizePlaceholder);
  return rest.reduce((filled, part, index) => {
    const picture = pictures[index]!;
    return filled + toAttributes(picture, sizes.get(picture.path)) + part;
  }, start);
}

/** Whether the pictures of an article still have the sizes that its HTML says. */
function hasCurrentSizes({ pictures }: ArticleMetadata, sizes: PictureSizes): boolean {
  return pictures.every(({ path, size }) => {
    const current = sizes.get(path);
    return current?.width === size?.width && current?.height === size?.height;
  });
}

/** A browser needs both lengths; one that the author wrote decides about the other. */
function toAttributes({ width, height }: Picture, size: Size | undefined): string {
  const lengths = {
    width: width ?? (size && (height === undefined ? size.width : Math.round((height * size.width) / size.height))),
    height: height ?? (size && (width === undefined ? size.height : Math.round((width * size.height) / size.width))),
  };
  return Object.entries(lengths)
    .map(([name, length]) => (length === undefined ? '' : ` ${name}="${length}"`))
    .join('');
}
