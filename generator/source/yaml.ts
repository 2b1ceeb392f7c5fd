import matter from 'gray-matter';
import { stringify } from 'yaml';
import type { z } from 'zod';
import { sources } from '#contract/endpoints.ts';
import { mergeConflict } from '../common/finding.ts';
import type { Finding } from '../common/finding.ts';
import type { Path } from '../common/schema-issues.ts';
import { findConflicts } from '../common/yaml-syntax.ts';
import { parseYaml } from '../common/yaml.ts';
import type { CheckedYaml } from '../common/yaml.ts';
import type { Diagnostics, SourceLocation } from './diagnostics.ts';
import { readText } from './load.ts';
import type { SourceFile, SourceFolder } from './load.ts';

/** The value of a file without an error. */
export interface SourceYaml<Value> {
  readonly value: Value;
  /** The place of the value at a path of keys, or of its nearest ancestor. */
  readonly place: (path: Path) => SourceLocation;
}

/** Reads and validates a file. Reports every problem; returns undefined if there is an error, or no file. */
export function readYaml<Schema extends z.ZodType>(
  file: SourceFile | undefined,
  schema: Schema,
  diagnostics: Diagnostics,
): SourceYaml<z.infer<Schema>> | undefined {
  const text = file && readText(file, diagnostics);
  if (text === undefined) return undefined;
  const { value, findings, place } = parseYaml(text, schema);
  diagnostics.report(file!, findings);
  return value === undefined ? undefined : { value, place: (path) => ({ ...file!, ...place(path) }) };
}

/** The file in content/ with the pictures and pages of authors. */
export const authorsFile = 'authors.yaml';

/** Reads the authors, by name; undefined if there is an error, or no such file. */
export function readAuthors({ files }: SourceFolder, diagnostics: Diagnostics) {
  const file = files.find(({ path }) => path === authorsFile);
  return readYaml(file, sources.authors, diagnostics);
}

/** The file in content/ that lists the paths that are gone for good. */
export const removedFile = 'removed.yaml';

/** Reads the paths that are gone for good, each with its position. */
export function readRemoved({ files }: SourceFolder, diagnostics: Diagnostics): ReadonlyMap<string, SourceLocation> {
  const file = files.find(({ path }) => path === removedFile);
  const { value = [], place } = readYaml(file, sources.removed, diagnostics) ?? {};
  const removed = new Map<string, SourceLocation>();
  for (const [index, path] of value.entries()) {
    const at = place!([index]);
    if (removed.has(path)) diagnostics.warning(at, `${path} is given twice`, 'keep one of the two');
    else removed.set(path, at);
  }
  return removed;
}

/** An article as it is written: its front matter, of which `value` is undefined if it has an error, and its Markdown. */
export interface SourceArticle<FrontMatter> extends CheckedYaml<FrontMatter> {
  readonly body: string;
  /** The line of the file on which the body begins, counted from 1. */
  readonly bodyLine: number;
}

/** By default gray-matter runs `---js` blocks as code. It looks up an engine for each spelling of a language. */
const refuseEngine = (): never => {
  throw new Error('only YAML front matter is allowed');
};
const splitOnly = {
  engines: {
    yaml: () => ({}),
    json: refuseEngine,
    javascript: refuseEngine,
    js: refuseEngine,
    coffee: refuseEngine,
    toml: refuseEngine,
  },
};

/** Far above any real front matter; a gray-matter regular expression is quadratic in the number of blank lines. */
const maxLength = 16_384;

const fail = (message: string, hint: string, line = 1): Finding => {
  return { severity: 'error', line, column: 1, message, hint };
};

/** Splits the text of an article and validates its front matter; returns the error of a text that cannot be split. */
export function parseArticle<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
): SourceArticle<z.infer<Schema>> | Finding {
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length;
  const firstLine = text.split('\n', 1)[0]!;
  if (findConflicts(firstLine).length > 0) return fail(mergeConflict.message, mergeConflict.hint);
  if (firstLine !== '---') {
    const message = firstLine.startsWith('---')
      ? 'the first line must be exactly ---; only YAML front matter is allowed'
      : 'there is no front matter';
    return fail(message, 'begin the file with ---, its fields, and --- again');
  }
  const length = text.indexOf('\n---', firstLine.length);
  const [closing = ''] = text.slice(length + 1).split('\n', 1);
  const hint = 'end it with a line of exactly ---';
  if (length < 0 || closing.trim() !== '---') {
    return fail('the front matter is not closed', hint, length < 0 ? 1 : lineAt(length + 1));
  }
  if (length > maxLength) return fail(`the front matter is longer than ${maxLength} characters`, hint);
  // With an options object gray-matter does not cache the file or return a shared result (its issue 166).
  const { matter: yaml, content } = matter(text, splitOnly);
  const body = content.slice(content.lastIndexOf('\n', content.search(/\S|$/)) + 1);
  // The YAML starts with the line break after the opening ---, so its line numbers are those of the file.
  const checked = parseYaml(yaml, schema);
  // A mistake must not turn a draft into an article, whose dead links are errors.
  const draft = !checked.value && /^draft:[ \t]*(?!false\b)/m.test(yaml) && { draft: true };
  const fields = draft ? ({ ...checked.fields, ...draft } as unknown as typeof checked.fields) : checked.fields;
  return { ...checked, fields, body, bodyLine: lineAt(text.length - body.length) };
}

/** The description of a new article. A published article that still has it is reported. */
export const placeholderDescription = 'One or two sentences for lists and search engines. Replace them.';

/** Renders the file of a new article: a draft with the given fields and without a text. */
export function renderTemplate({ title, ...fields }: { readonly title: string } & Record<string, string>): string {
  const frontMatter = { title, description: placeholderDescription, ...fields, draft: true };
  return `---\n${stringify(frontMatter, { lineWidth: 0 })}---\n\nWrite the article here. Headings begin at \`##\`.\n`;
}
