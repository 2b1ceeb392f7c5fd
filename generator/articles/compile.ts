import { addressOf, openCategory, parseArticle, renderBody, toArticle, toOutline } from './article.ts';
import type { Article, OpenedArticle, OpenedCategory, Outline } from './article.ts';
import type { RenderCache } from '../markdown/cache.ts';
import { toCategory } from './category.ts';
import type { CompiledCategory } from './category.ts';
import type { CategoryFolder, Content } from './content.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { mapInOrder } from './in-order.ts';
import type { Rendered } from '../markdown/render.ts';
import type { Stage } from '../release/stage.ts';

/** With what articles are compiled. */
export interface ArticlesOptions {
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  readonly diagnostics: Diagnostics;
  readonly stage: Stage;
  readonly renders: Pick<RenderCache, 'render'>;
  /** Is told how many of how many articles are compiled. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/** The articles of a build. */
export interface CompiledArticles {
  /** The day of the build. */
  readonly now: string;
  /** In the order of their folders, by `<folder of the collection>/<category>`. */
  readonly categories: ReadonlyMap<string, CompiledCategory>;
}

/** What is known of articles before they are compiled. */
export interface KnownArticles {
  /** What this process has compiled before. */
  readonly before: CompiledArticles | undefined;
  /** What another process knew of them, by path below content/. */
  readonly outlines: ReadonlyMap<string, Outline> | undefined;
}

/** Articles that are worked on at a time: enough to keep several threads busy, few enough to be small. */
const concurrency = 48;

/** The articles of a category; one that cannot be compiled leaves its place empty. */
type Places = (Article | undefined)[];

/**
 * Compiles the articles of content/ into the stage. One that is known, and is as it was, is taken over; and so is a
 * category as a whole in which nothing has changed.
 */
export async function compileArticles(
  { categories }: Content,
  { before, outlines }: KnownArticles,
  options: ArticlesOptions,
): Promise<CompiledArticles> {
  const { now, stage, diagnostics, progress } = options;
  const total = categories.reduce((sum, { articles }) => sum + articles.length, 0);
  let done = 0;
  const isThere = ({ state, output }: Article): boolean => state !== 'published' || stage.reuse(output);
  const found: (CompiledCategory | { readonly folder: CategoryFolder; readonly places: Places })[] = [];
  function* openUnknown(): Generator<[Places, place: number, OpenedCategory, OpenedArticle]> {
    for (const folder of categories) {
      const former = before?.categories.get(keyOf(folder));
      if (former?.folder === folder && before?.now === now && former.articles.every(isThere)) {
        found.push(former);
        done += former.articles.length;
        continue;
      }
      const known = former ? new Map(former.articles.map(({ file, outline }) => [file.path, outline])) : outlines;
      const category = openCategory(folder, (path) => known?.get(path), diagnostics);
      const places: Places = [];
      found.push({ folder, places });
      for (const opened of category.articles) {
        const article = toKnownArticle(category, opened, now);
        const isDone = article && isThere(article);
        const place = places.push(isDone ? article : undefined) - 1;
        if (isDone) done += 1;
        else yield [places, place, category, opened];
      }
    }
  }
  const compiling = mapInOrder(openUnknown(), concurrency, async ([places, place, category, opened]) => {
    places[place] = await compileArticle(category, opened, options);
  });
  for await (const _ of compiling) progress?.((done += 1), total);
  const compiled = found.map((one) => ('places' in one ? toCategory(one.folder, one.places.filter(isCompiled)) : one));
  return { now, categories: new Map(compiled.map((category) => [keyOf(category.folder), category])) };
}

const keyOf = ({ collection, slug }: CategoryFolder): string => `${collection.folder}/${slug}`;
const isCompiled = (article: Article | undefined): article is Article => article !== undefined;

/** The article that is known from the build before, where nothing that it depends on has changed. */
function toKnownArticle(
  { folder, name }: OpenedCategory,
  { file, known }: OpenedArticle,
  now: string,
): Article | undefined {
  return known?.category === name ? toArticle(folder, file, known, now) : undefined;
}

async function compileArticle(
  category: OpenedCategory,
  { file, parsed: opened }: OpenedArticle,
  { now, stage, renders, diagnostics }: ArticlesOptions,
): Promise<Article | undefined> {
  const { folder } = category;
  const { collection } = folder;
  const parsed = opened ?? parseArticle(file, collection, diagnostics);
  const { path } = addressOf(folder, file);
  const render = (markdown: string): Promise<Rendered> => renders.render(file.sha256, path, markdown);
  const rendered = parsed && (await renderBody(file, parsed, render, diagnostics));
  if (!rendered) return undefined;
  const outline = toOutline(category, file, parsed, rendered);
  const article = toArticle(folder, file, outline, now);
  if (!parsed.frontMatter) return { ...article, state: 'broken' };
  if (article.state === 'published') {
    const text = { body: parsed.body, html: rendered.html };
    await stage.write(collection.articleResource, article.params, { ...outline.item, ...text });
  }
  return article;
}
