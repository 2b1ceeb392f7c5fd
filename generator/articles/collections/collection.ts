import type { z } from 'zod';
import type { StaticFileName } from '#contract/static-files.ts';

/** The front matter that every kind of article shares. */
export interface CommonFrontMatter {
  readonly title: string;
  readonly description: string;
  readonly author?: string | undefined;
  readonly category?: string | undefined;
  readonly draft?: boolean | undefined;
  readonly updated?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly aliases?: readonly string[] | undefined;
}

/** An article in a list. */
export interface ListedArticle {
  readonly path: string;
}

/** A kind of article: its folder, its front matter and its list items. */
export interface Collection<FrontMatter extends CommonFrontMatter, Item extends ListedArticle> {
  /** Its folder in content/, and the first segment of its paths. */
  readonly folder: string;
  readonly frontMatter: z.ZodType<FrontMatter>;
  readonly articleFile: StaticFileName;
  /** The first day of publication, YYYY-MM-DD; undefined publishes the article at once. */
  dueOn(frontMatter: FrontMatter): string | undefined;
  /** Media in the valid fields of the front matter, by field. */
  media(fields: Partial<FrontMatter>): Readonly<Record<string, string | undefined>>;
  /** Probable mistakes in the valid fields of the front matter. */
  findMistakes(fields: Partial<FrontMatter>): readonly { field: string; message: string; hint: string }[];
  /** The list item; the article is the same with `body` and `html`. `words` is the number of words of prose. */
  toListed(frontMatter: FrontMatter, facts: { path: string; category: string; words: number }): Item;
  /** The order of lists; no two articles compare as equal. */
  compare(a: Item, b: Item): number;
}

/** Any kind of article. */
export type AnyCollection = Collection<CommonFrontMatter, ListedArticle>;
