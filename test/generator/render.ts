import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { article, buildProject, createProject } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';

/** What pages show of an article. */
export interface Published {
  readonly readTime: string;
  readonly body: string;
  readonly html: string;
}

/** Builds the sound project with a blog article more, and answers that article as it is published. */
export async function publish(markdown: string, files: Files = {}): Promise<Published> {
  const root = createProject({ 'content/blog/news/page.md': article({}, markdown), ...files });
  const { diagnostics } = await buildProject(root);
  if (diagnostics.length > 0) throw new Error(JSON.stringify(diagnostics));
  return readPublished(root, '/blog/news/page');
}

/**
 * Publishes the texts of a table as articles of one build, as a build for each would take most of a minute. Answers the
 * article of each text; the build is made when the first is asked for.
 */
export function publishTable(
  markdowns: readonly string[],
  options: { lenient?: boolean } = {},
): (markdown: string) => Promise<Published> {
  const files = markdowns.map((markdown, index) => [`content/blog/news/page-${index}.md`, article({}, markdown)]);
  let published: Promise<Map<string, Published>> | undefined;
  const publishAll = async (): Promise<Map<string, Published>> => {
    const root = createProject(Object.fromEntries(files) as Files);
    const { release, diagnostics } = await buildProject(root, options);
    if (!release) throw new Error(JSON.stringify(diagnostics));
    return new Map(markdowns.map((markdown, index) => [markdown, readPublished(root, `/blog/news/page-${index}`)]));
  };
  return async (markdown) => (await (published ??= publishAll())).get(markdown)!;
}

/** An article of the current release of a project folder, by its site path. */
export function readPublished(root: string, path: string): Published {
  const file = path.replace('/blog/', 'blog/article/').replace('/knowledgebase/', 'kb/article/');
  return JSON.parse(readFileSync(join(root, `dist/current/public/v1/${file}.json`), 'utf8')) as Published;
}
