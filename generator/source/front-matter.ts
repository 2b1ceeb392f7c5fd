import matter from 'gray-matter';
import { stringify } from 'yaml';
import type { z } from 'zod';
import { mergeConflict } from '../common/finding.ts';
import type { Finding } from '../common/finding.ts';
import { findConflicts } from '../common/yaml-syntax.ts';
import { parseYaml } from '../common/yaml.ts';
import type { CheckedYaml } from '../common/yaml.ts';

/** An article as it is written: its front matter, of which `value` is undefined if it has an error, and its Markdown. */
export interface SourceArticle<FrontMatter> extends CheckedYaml<FrontMatter> {
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

/** Splits the text of an article and validates its front matter. Returns the error of a text that cannot be split. */
export function parseArticle<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
): SourceArticle<z.infer<Schema>> | Finding {
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
    return fail('the front matter is not closed', hint, length < 0 ? 1 : lineAt(text, length + 1));
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
  return { ...checked, fields, body, bodyLine: lineAt(text, text.length - body.length) };
}

function fail(message: string, hint: string, line = 1): Finding {
  return { severity: 'error', line, column: 1, message, hint };
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** The description of a new article. A published article that still has it is reported. */
export const placeholderDescription = 'One or two sentences for lists and search engines. Replace them.';

/** Renders the file of a new article: a draft with the given fields and without a text. */
export function renderTemplate({ title, ...fields }: { readonly title: string } & Record<string, string>): string {
  const frontMatter = { title, description: placeholderDescription, ...fields, draft: true };
  return `---\n${stringify(frontMatter, { lineWidth: 0 })}---\n\nWrite the article here. Headings begin at \`##\`.\n`;
}
