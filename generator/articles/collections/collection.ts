import type { z } from 'zod';
import type { ResourceName } from '#contract/resources.ts';

/** The front matter that every kind of article shares. */
export interface CommonFrontMatter {
  readonly title: string;
  readonly description: string;
  readonly category?: string | undefined;
  readonly draft?: boolean | undefined;
  readonly aliases?: readonly string[] | undefined;
}

/** What is known of an article beside its front matter. */
export interface ArticleFacts {
  /** `/blog/<category>/<slug>` or `/knowledgebase/<category>/<slug>`. */
  readonly path: string;
  /** Display name of its category. */
  readonly category: string;
  /** Words of prose. */
  readonly words: number;
}

/** A file that lists articles. */
export interface ListFile<Item> {
  readonly resource: ResourceName;
  readonly params: Readonly<Record<string, string>>;
  readonly items: readonly Item[];
}

/** What lists show of an article of any kind. */
export interface ListItem {
  readonly path: string;
}

/** A kind of article: where it lives, what its front matter is, and what it becomes. */
export interface Collection<FrontMatter extends CommonFrontMatter, Item extends ListItem> {
  /** Its folder in content/, and the first segment of its paths. */
  readonly folder: string;
  readonly frontMatter: z.ZodType<FrontMatter>;
  readonly articleResource: ResourceName;
  /** The day from which an article is published, YYYY-MM-DD; undefined publishes it at once. */
  dueOn(frontMatter: FrontMatter): string | undefined;
  /** Media that the front matter shows, by field. */
  media(frontMatter: FrontMatter): Readonly<Record<string, string>>;
  /** The entry that lists show; the article is the same with `body` and `html`. */
  toItem(frontMatter: FrontMatter, facts: ArticleFacts): Item;
  /** The order of lists, in which no two articles are equal. */
  compare(a: Item, b: Item): number;
  /** The lists of all published articles, which are in order. */
  toLists(items: readonly Item[]): ListFile<Item>[];
}

/** Any kind of article, for code that treats all alike. */
export type AnyCollection = Collection<CommonFrontMatter, ListItem>;
