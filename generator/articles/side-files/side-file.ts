import type { Aliases } from '#contract/content.ts';
import { fileOf, toJsonText } from '#contract/resources.ts';
import type { ResourceName } from '#contract/resources.ts';
import type { Authors } from '#contract/site.ts';
import type { Article } from '../article.ts';
import type { ArticleText } from '../compile.ts';

/** The addresses of the website and of this service, without a slash at their ends; undefined if they are not set. */
export interface SiteUrls {
  readonly site?: string | undefined;
  readonly service?: string | undefined;
}

/** What side files are made from. */
export interface SideFileInput {
  /** The included articles of each kind, in the order of its list. */
  readonly blog: readonly Article[];
  readonly knowledgeBase: readonly Article[];
  readonly aliases: Aliases;
  /** The entries of `authors.yaml`. */
  readonly authors: Authors;
  readonly urls: SiteUrls;
  /** Reads the text of an included article; undefined if its source was changed meanwhile, which fails the build. */
  readonly readText: (article: Article) => Promise<ArticleText | undefined>;
}

/** A text file of a release. */
export interface TextFile {
  /** Its path in the release. */
  readonly file: string;
  readonly text: string;
}

/**
 * Creates the files of one kind that a website needs beside the articles. The same input gives the same bytes: the stage
 * links a file that did not change.
 */
export type SideFile = (input: SideFileInput) => TextFile[] | Promise<TextFile[]>;

/** Renders a JSON file of a release. */
export function toFile(name: ResourceName, value: unknown, params: Readonly<Record<string, string>> = {}): TextFile {
  return { file: fileOf(name, params), text: toJsonText(name, value) };
}
