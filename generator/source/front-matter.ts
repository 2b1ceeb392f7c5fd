import matter from 'gray-matter';
import type { z } from 'zod';
import type { YamlProblem } from '../common/yaml.ts';
import { findConflicts } from '../common/yaml-syntax.ts';
import type { Diagnostics } from './diagnostics.ts';
import { checkFields } from './yaml.ts';
import type { Checked } from './yaml.ts';

/** An article split into its validated front matter and its Markdown. */
export interface SplitArticle<FrontMatter> {
  /** Undefined if there is any problem in it. */
  readonly frontMatter: Checked<FrontMatter> | undefined;
  /** Its fields without a problem. */
  readonly fields: Checked<Partial<FrontMatter>> | undefined;
  /** Probable mistakes in it. They are not reported here, since the cache keeps them with the article. */
  readonly warnings: readonly YamlProblem[];
  readonly body: string;
  /** The line of the file on which the body begins, counted from 1. */
  readonly bodyLine: number;
}

/** By default gray-matter runs `---js` blocks as code. It looks up an engine for each spelling of a language. */
const refuse = (): never => {
  throw new Error('only YAML front matter is allowed');
};
const splitOnly = {
  engines: { yaml: () => ({}), json: refuse, javascript: refuse, js: refuse, coffee: refuse, toml: refuse },
};

/** Far above any real front matter; a gray-matter regular expression is quadratic in the number of blank lines. */
const maxLength = 16_384;

/** Parses an article. Reports every problem with line and column; returns undefined if the article cannot be split. */
export function parseFrontMatter<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  file: string,
  diagnostics: Diagnostics,
): SplitArticle<z.infer<Schema>> | undefined {
  const firstLine = text.split('\n', 1)[0]!;
  const [conflict] = findConflicts(firstLine);
  if (conflict) {
    diagnostics.error({ file, line: 1, column: 1 }, conflict.message, conflict.hint);
    return undefined;
  }
  if (firstLine !== '---') {
    const message = firstLine.startsWith('---')
      ? 'the first line must be exactly ---; only YAML front matter is allowed'
      : 'there is no front matter';
    diagnostics.error({ file, line: 1, column: 1 }, message, 'begin the file with ---, its fields, and --- again');
    return undefined;
  }
  const length = text.indexOf('\n---', firstLine.length);
  const [closing = ''] = text.slice(length + 1).split('\n', 1);
  const hint = 'end it with a line of exactly ---';
  if (length < 0 || closing.trim() !== '---') {
    const line = length < 0 ? 1 : lineAt(text, length + 1);
    diagnostics.error({ file, line, column: 1 }, 'the front matter is not closed', hint);
    return undefined;
  }
  if (length > maxLength) {
    diagnostics.error({ file, line: 1, column: 1 }, `the front matter is longer than ${maxLength} characters`, hint);
    return undefined;
  }
  // With an options object gray-matter does not cache the file or return a shared result (its issue 166).
  const { matter: yaml, content } = matter(text, splitOnly);
  const body = content.slice(content.lastIndexOf('\n', content.search(/\S|$/)) + 1);
  // The YAML starts with the line break after the opening ---, so its line numbers are those of the file.
  const { checked: frontMatter, fields, warnings } = checkFields(yaml, schema, file, diagnostics);
  return { frontMatter, fields, warnings, body, bodyLine: lineAt(text, text.length - body.length) };
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
