import { stringify } from 'yaml';
import type { CommonFrontMatter } from './collections/collection.ts';

/** The description of a new article. A published article that still has it is reported. */
export const placeholderDescription = 'One or two sentences for lists and search engines. Replace them.';

/** Renders the file of a new article: a draft with the given fields and without a text. */
export function renderTemplate({
  title,
  ...fields
}: Pick<CommonFrontMatter, 'title'> & Record<string, string>): string {
  const frontMatter = { title, description: placeholderDescription, ...fields, draft: true };
  return `---\n${stringify(frontMatter, { lineWidth: 0 })}---\n\nWrite the article here. Headings begin at \`##\`.\n`;
}
