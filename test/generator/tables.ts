import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { formatDiagnostic } from '../../generator/source/diagnostics.ts';
import { article, buildProject, createProject } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { readReleased } from './releases.ts';

/** Checks a project. Returns the problems as printed by `check`, with paths relative to the project. */
export async function problemsOf(root: string, options: Parameters<typeof buildProject>[1] = {}): Promise<string[]> {
  const { diagnostics } = await buildProject(root, { checkOnly: true, ...options });
  const prefix = `${relative(process.cwd(), root)}/`;
  return diagnostics.map((diagnostic) => formatDiagnostic(diagnostic, 'text').replaceAll(prefix, ''));
}

/** Creates a test per row: a valid project with changed files has exactly the given problems. */
export function testProjects(rows: Readonly<Record<string, readonly [files: Files, ...problems: string[]]>>): void {
  test.each(Object.entries(rows))('%s', async (_, [files, ...problems]) => {
    expect(await problemsOf(createProject(files))).toEqual(problems);
  });
}

/** Creates a test per path: a file with the text has exactly the given problem, at its start. */
export function testPaths(text: string, reasons: Readonly<Record<string, string>>, changes: Files = {}): void {
  testProjects(
    Object.fromEntries(
      Object.entries(reasons).map(([path, reason]) => [path, [{ ...changes, [path]: text }, `${path}:1:1  ${reason}`]]),
    ),
  );
}

/** Problems by input, without the file name. */
export type Problems = Readonly<Record<string, string | readonly string[]>>;

/**
 * Creates a test per input: a project where `file` has the text of the input has exactly the given problems. With a #
 * in the file name, each input gets a separate file, and all inputs share one check.
 */
export function testProblems(file: string, toText: (input: string) => string, rows: Problems, more: Files = {}): void {
  const inputs = Object.keys(rows);
  const toFile = (index: number): string => file.replace('#', String(index));
  const check = (indexes: Iterable<number>): Promise<string[]> => {
    const files = Object.fromEntries([...indexes].map((index) => [toFile(index), toText(inputs[index]!)]));
    return problemsOf(createProject({ ...more, ...files }));
  };
  const isRow = (problem: string): boolean => inputs.some((_, index) => problem.startsWith(`${toFile(index)}:`));
  let ofAll: Promise<string[]> | undefined;
  test.each(inputs.map((input, index) => [input, index] as const))('%j', async (input, index) => {
    const found = await (file.includes('#') ? (ofAll ??= check(inputs.keys())) : check([index]));
    const expected = [rows[input]!]
      .flat()
      .map((problem) => `${toFile(index)}:${problem.replace('page-#', `page-${index}`)}`);
    expect(found.filter((problem) => problem.startsWith(`${toFile(index)}:`) || !isRow(problem))).toEqual(expected);
  });
}

/** Creates a test per text of a blog article, which starts on line 9. */
export const testTexts = (rows: Problems): void =>
  testProblems('content/blog/news/page-#.md', (markdown) => article({}, markdown), rows);

/**
 * Creates a test per field of a blog article, such as `title: A`; a field without a value is removed. An added field is
 * on line 7.
 */
export const testFields = (rows: Problems): void =>
  testProblems('content/blog/news/page-#.md', (field) => article(toFields(field), 'Text.\n'), rows);

/** Creates a test per front matter of a blog article, which starts on line 2. */
export const testFrontMatter = (rows: Problems): void =>
  testProblems('content/blog/news/page-#.md', (yaml) => `---\n${yaml}\n---\n\nText.\n`, rows);

/** Creates a game whose plans start on line 5. */
export const toGame = (plans: string, top = 'soldOutMessage: ""'): string =>
  `name: Broken\nsoldOut: false\n${top}\nplans:\n${plans}\n`;

/** Parses fields, as in `name: value; other: value`. */
export function toFields(text: string): Record<string, string | undefined> {
  return Object.fromEntries(
    text.split('; ').map((field) => {
      const [, name = '', value] = /^([^:]+?)(?:: ?(.*))?$/s.exec(field) ?? [];
      return [name, value];
    }),
  );
}

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
