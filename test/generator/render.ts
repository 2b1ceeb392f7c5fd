import { expect, test } from 'vitest';
import { article, buildProject, createProject } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { readReleased } from './releases.ts';

/** The fields of a published article in tests. */
export interface Published {
  readonly readTime: string;
  readonly body: string;
  readonly html: string;
}

/** Publishes a text like {@link publishTable}. */
export function publish(markdown: string, files: Files = {}): Promise<Published> {
  return publishTable([markdown], { files })(markdown);
}

/**
 * Publishes all texts of a table in one build, because one build per text would take most of a minute. Returns a
 * function for the article of a text; the first call runs the build.
 */
export function publishTable(
  markdowns: readonly string[],
  { files: more = {}, ...options }: { lenient?: boolean; files?: Files } = {},
): (markdown: string) => Promise<Published> {
  const files = markdowns.map((markdown, index) => [`content/blog/news/page-${index}.md`, article({}, markdown)]);
  let published: Promise<Map<string, Published>> | undefined;
  const publishAll = async (): Promise<Map<string, Published>> => {
    const root = createProject({ ...(Object.fromEntries(files) as Files), ...more });
    const { release, diagnostics } = await buildProject(root, options);
    if (!release) throw new Error(JSON.stringify(diagnostics));
    return new Map(markdowns.map((markdown, index) => [markdown, readPublished(root, `/blog/news/page-${index}`)]));
  };
  return async (markdown) => (await (published ??= publishAll())).get(markdown)!;
}

/** Creates a test per text: the Markdown becomes the given HTML. */
export function testHtml(
  rows: Readonly<Record<string, string>>,
  options: {
    toMarkdown?: (text: string) => string;
    toHtml?: (html: string, text: string) => string;
    files?: Files;
  } = {},
): void {
  const { toMarkdown = (text) => text, toHtml = (html) => html, files = {} } = options;
  const pages = publishTable(Object.keys(rows).map(toMarkdown), { files });
  test.each(Object.entries(rows))('%j', async (text, html) => {
    expect((await pages(toMarkdown(text))).html).toBe(toHtml(html, text));
  });
}

/** Reads an article of the current release by site path. */
export function readPublished(root: string, path: string): Published {
  const file = path.replace('/blog/', 'blog/article/').replace('/knowledgebase/', 'kb/article/');
  return JSON.parse(readReleased(root, `public/v1/${file}.json`)) as Published;
}
