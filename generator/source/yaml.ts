import matter from 'gray-matter';
import { stringify } from 'yaml';
import type { z } from 'zod';
import { sources } from '#contract/endpoints.ts';
import { describeCharacter } from '#contract/primitives.ts';
import { findConflicts } from '../common/finding.ts';
import type { Finding } from '../common/finding.ts';
import type { Path } from '../common/schema-issues.ts';
import { parseYaml } from '../common/yaml.ts';
import type { CheckedYaml } from '../common/yaml.ts';
import type { Diagnostics, SourceLocation } from './diagnostics.ts';
import { readText } from './load.ts';
import type { SourceFile, SourceFolder } from './load.ts';

/** The value of a valid file. */
export interface SourceYaml<Value> {
  readonly value: Value;
  /** Returns the location of the value at a path, or of the nearest ancestor. */
  readonly place: (path: Path) => SourceLocation;
}

/** Reads and validates a file, if given. Returns undefined on errors. */
export function readYaml<Schema extends z.ZodType>(
  file: SourceFile | undefined,
  schema: Schema,
  diagnostics: Diagnostics,
): SourceYaml<z.infer<Schema>> | undefined {
  const text = file && readText(file, diagnostics);
  if (text === undefined) return undefined;
  const { value, findings, place } = parseYaml(text, schema, { dropEmpty: true });
  diagnostics.report(file!, findings);
  return value === undefined ? undefined : { value, place: (path) => ({ ...file!, ...place(path) }) };
}

/** The file in content/ with authors' pictures and pages. */
export const authorsFile = 'authors.yaml';

/** Reads the authors by name; undefined on errors or without the file. */
export function readAuthors({ files }: SourceFolder, diagnostics: Diagnostics) {
  const file = files.find(({ path }) => path === authorsFile);
  return readYaml(file, sources.authors, diagnostics);
}

/** The file in content/ with the paths that were removed for good. */
export const removedFile = 'removed.yaml';

/** Reads the removed paths, each with its location. */
export function readRemoved({ files }: SourceFolder, diagnostics: Diagnostics): ReadonlyMap<string, SourceLocation> {
  const file = files.find(({ path }) => path === removedFile);
  const { value = [], place } = readYaml(file, sources.removed, diagnostics) ?? {};
  return new Map(value.map((path, index) => [path, place!([index])]));
}

/** The source of an article: front matter and Markdown. */
export interface SourceArticle<FrontMatter> extends CheckedYaml<FrontMatter> {
  readonly body: string;
  /** The line of the file where the body starts, from 1. */
  readonly bodyLine: number;
}

/** By default, gray-matter runs the code of a `---js` block, which the check of the first line refuses already. */
const refuse = (): never => {
  throw new Error('only YAML front matter is allowed');
};
const splitOnly = { engines: { yaml: () => ({}), javascript: refuse } };

/** Far longer than real front matter; gray-matter is quadratic in the number of blank lines. */
const maxLength = 16_384;

const fail = (message: string, hint: string, line = 1): Finding => {
  return { severity: 'error', line, column: 1, message, hint };
};

/** Splits an article and validates the front matter; returns the error if the text cannot be split. */
export function parseArticle<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
): SourceArticle<z.infer<Schema>> | Finding {
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length;
  const firstLine = text.split('\n', 1)[0]!;
  const [conflict] = findConflicts(firstLine);
  if (conflict) return fail(conflict.message, conflict.hint);
  const [, hidden] = /^([\p{Cf}\u{A0}])[\p{Cf}\s]*---/u.exec(firstLine) ?? [];
  if (hidden) return fail(`the first line starts with ${describeCharacter(hidden)}`, 'delete it before ---');
  if (firstLine !== '---') {
    const message = firstLine.startsWith('---')
      ? 'the first line must be exactly ---; only YAML front matter is allowed'
      : 'there is no front matter';
    return fail(message, 'start the file with ---, the fields, and --- again');
  }
  const length = text.indexOf('\n---', firstLine.length);
  const [closing = ''] = text.slice(length + 1).split('\n', 1);
  const hint = 'end it with a line of exactly ---';
  if (length < 0 || closing.trim() !== '---') {
    return fail('the front matter is not closed', hint, length < 0 ? 1 : lineAt(length + 1));
  }
  if (length > maxLength) return fail(`the front matter is longer than ${maxLength} characters`, hint);
  // Passing options stops gray-matter from caching and sharing results (its issue 166).
  const { matter: yaml, content } = matter(text, splitOnly);
  const body = content.slice(content.lastIndexOf('\n', content.search(/\S|$/)) + 1);
  // The YAML starts with the line break after the opening ---, so it has the line numbers of the file.
  const checked = parseYaml(yaml, schema, { dropEmpty: true });
  // Despite other mistakes a draft stays a draft: dead links in a draft are no errors.
  const draft = !checked.value && /^draft:(?![ \t]*false\b)/m.test(yaml) && { draft: true };
  const fields = draft ? ({ ...checked.fields, ...draft } as unknown as typeof checked.fields) : checked.fields;
  return { ...checked, fields, body, bodyLine: lineAt(text.length - body.length) };
}

/** The description of a new article; publishing an article with it is reported. */
export const placeholderDescription = 'One or two sentences for lists and search engines. Replace them.';

/** Renders a new draft with the given fields. */
export function renderTemplate({ title, ...fields }: { readonly title: string } & Record<string, string>): string {
  const frontMatter = { title, description: placeholderDescription, ...fields, draft: true };
  return `---\n${stringify(frontMatter, { lineWidth: 0 })}---\n\nWrite the article here. Headings start at \`##\`.\n`;
}
