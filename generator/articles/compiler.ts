import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { fileOf, toJsonText } from '#contract/endpoints.ts';
import { sizePlaceholder } from '../markdown/plugins/trusted.ts';
import type { Rendered } from '../markdown/render.ts';
import type { Render } from '../markdown/renderer.ts';
import type { Compressor, Encodings } from '../release/compress.ts';
import type { Stage } from '../release/publish.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { parseArticle } from '../source/yaml.ts';
import type { SourceArticle } from '../source/yaml.ts';
import { readText } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import type { PictureSizes } from '../source/media.ts';
import { toMetadata } from './article.ts';
import type { Article, ArticleMetadata } from './article.ts';
import { articleKey } from './cache.ts';
import type { ArticleCache } from './cache.ts';
import { pathOf, toTitleCase } from './content.ts';
import type { CategoryFolder, Content, FrontMatter } from './content.ts';

/** Options of {@link createArticleCompiler}; `withUnpublished` includes drafts and scheduled articles, for a preview. */
export interface ArticlesOptions {
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  readonly withUnpublished?: boolean | undefined;
  readonly diagnostics: Diagnostics;
  readonly render: Render;
  readonly cache: ArticleCache;
  readonly pictures: PictureSizes;
  /** Compresses the files of articles; left out if articles are only checked. */
  readonly compressor?: Compressor | undefined;
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

type Source = SourceArticle<FrontMatter>;

/** Creates a compiler of the articles of one build. */
export function createArticleCompiler(options: ArticlesOptions) {
  const { now, withUnpublished = false, diagnostics, render, cache, pictures, compressor, progress } = options;

  const read = ({ collection }: CategoryFolder, file: SourceFile): Source | undefined => {
    const text = readText(file, diagnostics);
    const source = text === undefined ? undefined : parseArticle(text, collection.frontMatter);
    if (!source || 'body' in source) return source;
    diagnostics.report(file, [source]);
    return undefined;
  };

  /** Opens an article: its metadata if it is cached, else its source. */
  const open = (folder: CategoryFolder, file: SourceFile) => {
    const found = cache.read(articleKey(file)) as ArticleMetadata | undefined;
    const hasFile = !compressor || found?.encodings?.compression === compressor.name;
    // The HTML of an article says the sizes that its pictures had.
    const hasSizes = found?.pictures.every(({ path, size }) => isDeepStrictEqual(size, pictures.get(path)));
    const cached = hasFile && hasSizes ? found : undefined;
    const source = cached ? undefined : read(folder, file);
    const declared = (cached ?? source)?.fields?.category;
    const place = { ...file, ...(cached ? cached.places.category : source?.place(['category'])) };
    return cached || source ? [{ file, cached, source, declared, place }] : [];
  };

  /** The display name of a category. Reports each article that says another. */
  const nameOf = (folder: CategoryFolder, opened: ReturnType<typeof open>): string => {
    let { name } = folder;
    let origin = 'category.yaml';
    for (const { declared, place } of opened) {
      if (declared === undefined) continue;
      if (name === undefined) {
        name = declared;
        origin = place.display;
      } else if (declared !== name) {
        const message = `"category" must be the same in all of ${folder.slug}/`;
        diagnostics.error(place, message, `${origin} says "${name}"`);
      }
    }
    return name ?? toTitleCase(folder.slug);
  };

  const toArticle = (folder: CategoryFolder, file: SourceFile, metadata: ArticleMetadata): Article => {
    const { fields, due } = metadata;
    const state = fields.draft ? 'draft' : due !== undefined && due > now ? 'scheduled' : 'published';
    const output = fileOf(folder.collection.articleFile, { category: folder.slug, slug: basename(file.path, '.md') });
    const isIncluded = withUnpublished || state === 'published';
    return { folder, file, path: pathOf(file), output, state, isIncluded, metadata };
  };

  /** Renders an article and adds it to the cache. It has no file if it is broken or only checked. */
  const compileOne = async (
    folder: CategoryFolder,
    category: string,
    file: SourceFile,
    source: Source | undefined = read(folder, file),
  ): Promise<{ readonly article: Article; readonly encodings?: Encodings } | undefined> => {
    if (!source) return undefined;
    const { collection } = folder;
    const path = pathOf(file);
    const rendered = await render(source.body, path);
    const metadata = toMetadata({ collection, category, path }, source, rendered, pictures);
    const article = toArticle(folder, file, metadata);
    if (!source.value || rendered.html === '') return { article: { ...article, state: 'broken', isIncluded: false } };
    if (!compressor) return { article };
    const html = fillSizes(rendered, pictures);
    const text = toJsonText(collection.articleFile, { ...metadata.item, body: source.body, html });
    const encodings = await compressor.compress(Buffer.from(text));
    const [identity, gz, br] = [encodings.identity, encodings.gz, encodings.br].map((bytes) => hash('sha256', bytes));
    const hashed = { ...metadata, encodings: { compression: compressor.name, identity: identity!, gz: gz!, br: br! } };
    cache.write(articleKey(file), hashed, encodings);
    return { article: { ...article, metadata: hashed }, encodings };
  };

  const readEncodings = async ({ folder, file, metadata }: Article): Promise<Encodings | undefined> =>
    // Another build may have removed it from the cache, or it is damaged.
    cache.readEncodings(articleKey(file), metadata) ?? (await compileOne(folder, metadata.category, file))?.encodings;

  return {
    /** Compiles the articles of content/, in the order of their files. Reports and omits those that cannot be compiled. */
    async compile({ categories }: Content): Promise<Article[]> {
      const total = categories.reduce((sum, { articles }) => sum + articles.length, 0);
      const articles: (Article | undefined)[] = [];
      let done = 0;
      // One category at a time, so that the texts of all articles are never in memory together.
      function* openUncached() {
        for (const folder of categories) {
          const opened = folder.articles.flatMap((file) => open(folder, file));
          const category = nameOf(folder, opened);
          for (const { file, cached, source } of opened) {
            const isCached = cached?.category === category;
            const index = articles.push(isCached ? toArticle(folder, file, cached) : undefined) - 1;
            if (isCached) done += 1;
            else yield { index, folder, category, file, source };
          }
        }
      }
      await forEach(openUncached(), async ({ index, folder, category, file, source }) => {
        articles[index] = (await compileOne(folder, category, file, source))?.article;
        progress?.((done += 1), total);
      });
      const compiled = articles.filter((article) => article !== undefined);
      for (const { file, metadata } of compiled) diagnostics.report(file, metadata.findings);
      return compiled;
    },

    /** Writes the files of the included articles into a stage; reuses those of the previous release. */
    async write(articles: readonly Article[], stage: Stage): Promise<void> {
      const missing = articles.filter(
        ({ isIncluded, output, metadata }) => isIncluded && !stage.reuse(output, metadata.encodings!.identity),
      );
      await forEach(missing, async (article) => {
        const encodings = await readEncodings(article);
        if (encodings) stage.writeEncodings(article.output, encodings);
      });
    },

    /** Reads the HTML of an included article. Reports it and returns undefined if its source changed during the build. */
    async readText(article: Article): Promise<{ readonly html: string } | undefined> {
      const encodings = await readEncodings(article);
      return encodings && (JSON.parse(Buffer.from(encodings.identity).toString('utf8')) as { html: string });
    },
  };
}

/** Articles in progress at a time: enough for several threads, few enough to fit in memory. */
const concurrency = 48;

/** Calls a function for some items at a time. p-limit would take all first, with their texts. No call outlives an error. */
async function forEach<Item>(items: Iterable<Item>, run: (item: Item) => Promise<void>): Promise<void> {
  const shared = Iterator.from(items);
  const work = Array.from({ length: concurrency }, async () => {
    // oxlint-disable-next-line no-await-in-loop -- Each of these loops does one thing at a time.
    for (const item of shared) await run(item);
  });
  await Promise.allSettled(work);
  await Promise.all(work);
}

/** Fills in the sizes of pictures, so that a page does not move while they load; a written length decides the other. */
function fillSizes({ html, pictures }: Rendered, sizes: PictureSizes): string {
  let index = 0;
  return html.replaceAll(sizePlaceholder, () => {
    const picture = pictures[index++]!;
    const size = sizes.get(picture.path);
    const scale = (of: 'width' | 'height', by: 'width' | 'height'): string => {
      const length = picture[of] ?? (size && Math.round(((picture[by] ?? size[by]) * size[of]) / size[by]));
      return length === undefined ? '' : ` ${of}="${length}"`;
    };
    return scale('width', 'height') + scale('height', 'width');
  });
}
