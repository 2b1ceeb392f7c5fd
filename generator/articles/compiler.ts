import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
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
import { sitePathOf, toTitleCase } from './content.ts';
import type { CategoryFolder, ContentFiles, FrontMatter } from './content.ts';
import type { SiteUrls } from './feed.ts';
import type { Memo } from './memo.ts';

/** Options of {@link createArticleCompiler}. */
export interface ArticlesOptions {
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  /** Includes drafts and scheduled articles, for a preview. */
  readonly withUnpublished?: boolean | undefined;
  readonly diagnostics: Diagnostics;
  readonly render: Render;
  readonly memo: Memo;
  readonly pictures: PictureSizes;
  /** Whole addresses of the website and the service are checked like paths. */
  readonly urls?: SiteUrls | undefined;
  /** Compresses the files of articles; left out if articles are only checked. */
  readonly compressor?: Compressor | undefined;
  /** Called for each step of a build, with the number of articles that are done. */
  readonly progress?: ((step: string, done?: number, total?: number) => void) | undefined;
}

/** An article to compile. */
interface Job {
  readonly folder: CategoryFolder;
  readonly category: string;
  readonly file: SourceFile;
  readonly source: SourceArticle<FrontMatter>;
}

/** About 50 ms of rendering; a batch shares a timer and a message. */
const batchCharacters = 20_000;

/** Two batches for each of four threads. */
const maxBatches = 8;

const toName = ({ path }: SourceFile): string => `article ${path}`;

/** Creates a compiler of the articles of one build. */
export function createArticleCompiler(options: ArticlesOptions) {
  const { now, withUnpublished = false, diagnostics, render, memo, pictures, compressor, progress } = options;
  const { site, service } = options.urls ?? {};
  const ownBases = [undefined, ...[site, service].map((url) => url?.replace(/^https?:/i, '').toLowerCase())];

  const read = ({ collection }: CategoryFolder, file: SourceFile): Job['source'] | undefined => {
    const text = readText(file, diagnostics);
    const source = text === undefined ? undefined : parseArticle(text, collection.frontMatter);
    if (!source || 'body' in source) return source;
    diagnostics.report(file, [source]);
    return undefined;
  };

  /** Reads the metadata of an article from the memo, or its source. */
  const open = (folder: CategoryFolder, file: SourceFile) => {
    const found = memo.read(toName(file), file.sha256) as ArticleMetadata | undefined;
    const hasFile = !compressor || found?.encodings?.compression === compressor.name;
    // The HTML contains the sizes that the pictures had.
    const hasSizes = found?.pictures.every(({ path, size }) => isDeepStrictEqual(size, pictures.get(path)));
    const cached = hasFile && hasSizes ? found : undefined;
    const source = cached ? undefined : read(folder, file);
    const declared = (cached ?? source)?.fields?.category;
    const place = { ...file, ...(cached ? cached.places.category : source?.place(['category'])) };
    return cached || source ? [{ file, cached, source, declared, place }] : [];
  };

  /** Finds the display name of a category. Reports articles that declare another name. */
  const nameOf = (folder: CategoryFolder, opened: ReturnType<typeof open>): string => {
    const declaring = opened.filter(({ declared }) => declared !== undefined);
    const name = folder.name ?? declaring[0]?.declared;
    const origin = folder.name === undefined ? declaring[0]?.place.display : 'category.yaml';
    for (const { declared, place } of declaring) {
      const message = `"category" must be the same in all of ${folder.slug}/`;
      if (declared !== name) diagnostics.error(place, message, `${origin} says "${name}"`);
    }
    return name ?? toTitleCase(folder.slug);
  };

  const toArticle = (folder: CategoryFolder, file: SourceFile, metadata: ArticleMetadata): Article => {
    const { fields, due } = metadata;
    const state = fields.draft ? 'draft' : due !== undefined && due > now ? 'scheduled' : 'published';
    const output = fileOf(folder.collection.articleFile, { category: folder.slug, slug: basename(file.path, '.md') });
    const isIncluded = withUnpublished || state === 'published';
    const updated = fields.updated !== undefined && fields.updated <= now ? fields.updated : undefined;
    const references = metadata.references.filter(({ base }) => ownBases.includes(base?.toLowerCase()));
    return { folder, file, path: sitePathOf(file), output, state, isIncluded, updated, references, metadata };
  };

  /** Makes and stores an article and its file; broken and only checked ones have no file. */
  const finish = async ({ folder, category, file, source }: Job, rendered: Rendered) => {
    const { collection } = folder;
    const metadata = toMetadata({ collection, category, path: sitePathOf(file) }, source, rendered, pictures);
    const article = toArticle(folder, file, metadata);
    const broken = { state: 'broken', isIncluded: false } as const;
    if (!source.value || rendered.html === '') return { article: { ...article, ...broken } };
    if (!compressor) return { article };
    const html = fillSizes(rendered, pictures);
    const text = toJsonText(collection.articleFile, { ...metadata.item, body: rendered.body, html });
    const bytes = Buffer.from(text);
    const encodings = await compressor.compress({ bytes, sha256: hash('sha256', bytes) });
    const { identity, gz, br } = encodings;
    const hashes = { compression: compressor.name, identity: identity.sha256, gz: gz.sha256, br: br.sha256 };
    const stored = { ...metadata, encodings: hashes };
    memo.write(toName(file), file.sha256, stored, { gz: gz.bytes, br: br.bytes });
    return { article: { ...article, metadata: stored }, encodings };
  };

  /** Compiles articles; the results have their order. */
  const compileBatch = async (jobs: readonly Job[]) => {
    const texts = jobs.map(({ file, source }) => ({ markdown: source.body, sitePath: sitePathOf(file) }));
    const rendered = await render(texts);
    return Promise.all(jobs.map((job, at) => finish(job, rendered[at]!)));
  };

  /** Reads the file of an article from the memo, unless it is damaged or replaced. */
  const recall = ({ file, metadata }: Article): Encodings | undefined => {
    const { identity, ...hashes } = metadata.encodings!;
    const { gz, br } = memo.readBytes(toName(file)) ?? {};
    if (!gz || !br || hash('sha256', gz) !== hashes.gz || hash('sha256', br) !== hashes.br) return undefined;
    return {
      identity: { bytes: gunzipSync(gz), sha256: identity },
      gz: { bytes: gz, sha256: hashes.gz },
      br: { bytes: br, sha256: hashes.br },
    };
  };

  return {
    /** Compiles all articles, in the order of their files. Omits invalid ones. */
    async compile({ categories }: ContentFiles): Promise<Article[]> {
      const total = categories.reduce((sum, { articles }) => sum + articles.length, 0);
      const articles = new Map<string, Article | undefined>();
      let done = 0;
      // One category at a time: the texts of all articles are never in memory together.
      function* toBatches() {
        let batch: Job[] = [];
        let characters = 0;
        for (const folder of categories) {
          const opened = folder.articles.flatMap((file) => open(folder, file));
          const category = nameOf(folder, opened);
          for (const { file, cached, source } of opened) {
            const isCached = cached?.category === category;
            articles.set(file.path, isCached ? toArticle(folder, file, cached) : undefined);
            if (isCached) done += 1;
            const toCompile = isCached ? undefined : (source ?? read(folder, file));
            if (!toCompile) continue;
            batch.push({ folder, category, file, source: toCompile });
            characters += toCompile.body.length;
            if (characters < batchCharacters) continue;
            yield batch;
            batch = [];
            characters = 0;
          }
        }
        if (batch.length > 0) yield batch;
      }
      const batches = toBatches();
      const work = Array.from({ length: maxBatches }, async () => {
        for (const batch of batches) {
          for (const { article } of await compileBatch(batch)) {
            articles.set(article.file.path, article);
            progress?.('rendering', (done += 1), total);
          }
        }
      });
      // No batch outlives an error.
      await Promise.allSettled(work);
      await Promise.all(work);
      const compiled = [...articles.values()].filter((article) => article !== undefined);
      for (const { file, metadata } of compiled) diagnostics.report(file, metadata.findings);
      return compiled;
    },

    /** Writes the files of included articles, or links those of the previous release. */
    async write(articles: readonly Article[], stage: Stage): Promise<void> {
      for (const [at, article] of articles.entries()) {
        progress?.('writing', at + 1, articles.length);
        const { folder, file, output, isIncluded, metadata } = article;
        if (!isIncluded || stage.reuse(output, metadata.encodings!.identity)) continue;
        let encodings = recall(article);
        const source = encodings ? undefined : read(folder, file);
        if (source) {
          // Rare: the memo was damaged, or another build has changed it.
          const [again] = await compileBatch([{ folder, category: metadata.category, file, source }]);
          encodings = again?.encodings;
        }
        if (encodings) stage.writeEncodings(output, encodings);
      }
    },
  };
}

/** Fills in the sizes of pictures, which avoids layout shifts. */
function fillSizes({ html, pictures }: Rendered, sizes: PictureSizes): string {
  let index = 0;
  return html.replaceAll(sizePlaceholder, () => {
    const picture = pictures[index++]!;
    const size = sizes.get(picture.path);
    const scale = (of: 'width' | 'height', by: 'width' | 'height'): string => {
      // A length of 0 would hide a thin picture.
      const scaled = size && Math.max(1, Math.round(((picture[by] ?? size[by]) * size[of]) / size[by]));
      const length = picture[of] ?? scaled;
      return length === undefined ? '' : ` ${of}="${length}"`;
    };
    return scale('width', 'height') + scale('height', 'width');
  });
}
