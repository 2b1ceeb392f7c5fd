import { Script, createContext } from 'node:vm';
import rehypeSanitize from 'rehype-sanitize';
import rehypeStringify from 'rehype-stringify';
import remarkRehype from 'remark-rehype';
import { unified } from 'unified';
import { VFile } from 'vfile';
import { MarkdownError, checkMarkup, checkTables } from './limits.ts';
import { remarkLint } from './lint/index.ts';
import type { Finding } from './lint/rule.ts';
import { parseMarkdown } from './parse.ts';
import { rehypeAccessible } from './plugins/rehype-accessible.ts';
import { rehypeHeadingIds } from './plugins/rehype-heading-ids.ts';
import { rehypeHighlight } from './plugins/rehype-highlight.ts';
import { rehypeLinks } from './plugins/rehype-links.ts';
import type { Reference } from './plugins/rehype-links.ts';
import { rehypeRawHtml } from './plugins/rehype-raw-html.ts';
import { remarkAlerts } from './plugins/remark-alerts.ts';
import { safeHtml } from './plugins/safe-html.ts';
import { countWords } from './words.ts';

/** The rendered Markdown of an article. */
export interface Rendered {
  /** Sanitised HTML; it never contains scripts. */
  readonly html: string;
  readonly words: number;
  /** Links and images that point to this site. */
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
 * attributes for accessibility. */
const processor = unified()
  .use(remarkAlerts)
  .use(remarkLint)
  .use(remarkRehype, { allowDangerousHtml: true, clobberPrefix: '' })
  .use(rehypeRawHtml)
  .use(rehypeSanitize, safeHtml)
  .use(rehypeHeadingIds)
  .use(rehypeHighlight)
  .use(rehypeAccessible)
  .use(rehypeLinks)
  .use(rehypeStringify)
  .freeze();

/** The limit of CPU time; a real article of 320 kB takes 0.3 s. */
const maxRenderMs = 5000;

/** Renders an article, or returns which limit it exceeds. Parameter and result can be sent between threads. */
export function render(article: ArticleText, wallMs = maxRenderMs): RenderResult {
  const before = process.threadCpuUsage();
  try {
    return withTimeLimit(() => renderWithoutLimit(article), wallMs);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Thousands of nested elements overflow the stack.
    if (error instanceof RangeError) return reject('the article is nested too deeply', 1, 'flatten it');
    if (error instanceof MarkdownError) return reject(error.message, error.line, error.hint);
    if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    const { user, system } = process.threadCpuUsage(before);
    // The timeout is wall time: on a busy machine the article gets another attempt.
    if ((user + system) / 1000 < maxRenderMs / 2) return render(article, wallMs * 2);
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
  const { references = [], ids = [], findings = [] } = file.data;
  return { html, words, references, ids: [...ids], findings };
}

/** V8 supports timeouts only for scripts, so a script calls the work. */
const timed = createContext({ work: (): unknown => undefined });
const callWork = new Script('work()');

function withTimeLimit<Result>(work: () => Result, wallMs: number): Result {
  timed.work = work;
  return callWork.runInContext(timed, { timeout: wallMs }) as Result;
}
