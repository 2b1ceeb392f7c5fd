import rehypeSanitize from 'rehype-sanitize';
import rehypeStringify from 'rehype-stringify';
import remarkRehype from 'remark-rehype';
import { unified } from 'unified';
import { VFile } from 'vfile';
import { TimeLimitError, withTimeLimit } from '#common/time-limit.ts';
import { MarkdownError, checkMarkup, checkTables } from './limits.ts';
import { remarkLint } from './lint/index.ts';
import type { Finding } from './lint/rule.ts';
import { parseMarkdown } from './parse.ts';
import { rehypeAccessible } from './plugins/rehype-accessible.ts';
import { rehypeCodeLines } from './plugins/rehype-code-lines.ts';
import { rehypeHeadingIds } from './plugins/rehype-heading-ids.ts';
import { rehypeHighlight } from './plugins/rehype-highlight.ts';
import { rehypeLinks } from './plugins/rehype-links.ts';
import type { Reference } from './plugins/rehype-links.ts';
import { rehypePictures } from './plugins/rehype-pictures.ts';
import type { Picture } from './plugins/rehype-pictures.ts';
import { rehypePlayers } from './plugins/rehype-players.ts';
import { rehypeRawHtml } from './plugins/rehype-raw-html.ts';
import { remarkAlerts } from './plugins/remark-alerts.ts';
import { remarkFenceMeta } from './plugins/remark-fence-meta.ts';
import { safeHtml } from './plugins/safe-html.ts';
import { countWords } from './words.ts';

/** The rendered Markdown of an article. */
export interface Rendered {
  /** Sanitised HTML; it never contains scripts. The sizes of its pictures are not filled in. */
  readonly html: string;
  /** The pictures whose size is to be filled in, in their order. */
  readonly pictures: readonly Picture[];
  readonly words: number;
  /** Links, pictures, videos and sounds that point to this site. */
  readonly references: readonly Reference[];
  /** The IDs that links can point to. */
  readonly ids: readonly string[];
  /** Probable mistakes in the Markdown. */
  readonly findings: readonly Finding[];
}

/** An article to render. */
export interface ArticleText {
  readonly markdown: string;
  readonly sitePath: string;
}

/** A rendered article, or the reason why it was rejected. */
export type RenderResult = Rendered | { readonly rejected: Pick<MarkdownError, 'message' | 'line' | 'hint'> };

/** The render pipeline. The plugins after the sanitiser add only IDs, class names, site paths and
 * attributes for accessibility and loading. */
const processor = unified()
  .use(remarkAlerts)
  .use(remarkLint)
  .use(remarkFenceMeta)
  .use(remarkRehype, { allowDangerousHtml: true, clobberPrefix: '' })
  .use(rehypeRawHtml)
  .use(rehypeSanitize, safeHtml)
  .use(rehypeHeadingIds)
  .use(rehypeHighlight)
  .use(rehypeCodeLines)
  .use(rehypeAccessible)
  .use(rehypePlayers)
  .use(rehypeLinks)
  .use(rehypePictures)
  .use(rehypeStringify)
  .freeze();

/** The limit of CPU time; a real article of 320 kB takes 0.3 s. */
const maxRenderMs = 5000;

/** Renders an article, or returns which limit it exceeds. Parameter and result can be sent between threads. */
export function render(article: ArticleText): RenderResult {
  try {
    return withTimeLimit(() => renderWithoutLimit(article), maxRenderMs);
  } catch (error) {
    // Thousands of nested elements overflow the stack.
    if (error instanceof RangeError) return reject('the article is nested too deeply', 1, 'flatten it');
    if (error instanceof MarkdownError) return reject(error.message, error.line, error.hint);
    if (!(error instanceof TimeLimitError)) throw error;
    const message = `the article takes more than ${maxRenderMs / 1000} s to render`;
    return reject(message, 1, 'look for very long lines, lists or tables; split it up');
  }
}

const reject = (message: string, line: number, hint: string): RenderResult => ({ rejected: { message, line, hint } });

function renderWithoutLimit({ markdown, sitePath }: ArticleText): Rendered {
  checkMarkup(markdown);
  const file = new VFile({ value: markdown, data: { sitePath } });
  const tree = parseMarkdown(markdown);
  checkTables(tree);
  const words = countWords(tree);
  const html = processor.stringify(processor.runSync(tree, file), file);
  const { pictures = [], references = [], ids = [], findings = [] } = file.data;
  return { html, pictures, words, references, ids: [...ids], findings };
}
