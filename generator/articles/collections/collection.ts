import type { z } from 'zod';
import type { ResourceName } from '#contract/resources.ts';

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

/** The data of an article that its front matter does not contain. */
export interface ArticleFacts {
  /** `/blog/<category>/<slug>` or `/knowledgebase/<category>/<slug>`. */
  readonly path: string;
  /** Display name of its category. */
  readonly category: string;
  /** The number of words of prose. */
  readonly words: number;
}

/** A probable mistake in a field of the front matter. */
export interface FieldMistake {
  readonly field: string;
  readonly message: string;
  readonly hint: string;
}

/** A file that lists articles. */
export interface ListFile<Item> {
  readonly resource: ResourceName;
  readonly params: Readonly<Record<string, string>>;
  readonly items: readonly Item[];
}

/** The list item of an article of any kind. */
export interface ListItem {
  readonly path: string;
}

/** A kind of article: its folder, its front matter, its list items and its lists. */
export interface Collection<FrontMatter extends CommonFrontMatter, Item extends ListItem> {
  /** Its folder in content/, and the first segment of its paths. */
  readonly folder: string;
  readonly frontMatter: z.ZodType<FrontMatter>;
  readonly articleResource: ResourceName;
  /** The first day of publication, YYYY-MM-DD; undefined publishes the article at once. */
  dueOn(frontMatter: FrontMatter): string | undefined;
  /** Media in the valid fields of the front matter, by field. */
  media(fields: Partial<FrontMatter>): Readonly<Record<string, string | undefined>>;
  /** Probable mistakes in the valid fields of the front matter. */
  findMistakes(fields: Partial<FrontMatter>): readonly FieldMistake[];
  /** The list item; the article is the same with `body` and `html`. */
  toItem(frontMatter: FrontMatter, facts: ArticleFacts): Item;
  /** The order of lists; no two articles compare as equal. */
  compare(a: Item, b: Item): number;
  /** The list files, from all published articles in order. */
  toLists(items: readonly Item[]): ListFile<Item>[];
}

/** Any kind of article. */
export type AnyCollection = Collection<CommonFrontMatter, ListItem>;
