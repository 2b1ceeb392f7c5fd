import { Script, createContext } from 'node:vm';
import rehypeSanitize from 'rehype-sanitize';
import rehypeStringify from 'rehype-stringify';
import remarkRehype from 'remark-rehype';
import { unified } from 'unified';
import { VFile } from 'vfile';
import { MarkdownError, checkMarkup, checkTables } from './limits.ts';
import { parseMarkdown } from './parse.ts';
import { rehypeHeadingIds } from './plugins/rehype-heading-ids.ts';
import { rehypeHighlight } from './plugins/rehype-highlight.ts';
import { rehypeLinks } from './plugins/rehype-links.ts';
import type { Reference } from './plugins/rehype-links.ts';
import { rehypeRawHtml } from './plugins/rehype-raw-html.ts';
import { remarkAlerts } from './plugins/remark-alerts.ts';
import { safeHtml } from './plugins/safe-html.ts';
import { countWords } from './words.ts';

/** What an article's Markdown becomes. */
export interface Rendered {
  /** Safe HTML: nothing in it runs, whatever the Markdown held. */
  readonly html: string;
  readonly words: number;
  /** Links and images that lead to this site. */
  readonly references: readonly Reference[];
  /** The ids that links can lead to. */
  readonly ids: readonly string[];
}

/** An article to render. */
export interface ArticleText {
  readonly markdown: string;
  readonly sitePath: string;
}

/** What became of it. */
export type Outcome = Rendered | { readonly refused: Pick<MarkdownError, 'message' | 'line' | 'hint'> };

/** The one pipeline. Behind the sanitiser only what this project writes itself is added: ids, classes, site paths. */
const processor = unified()
  .use(remarkAlerts)
  .use(remarkRehype, { allowDangerousHtml: true, clobberPrefix: '' })
  .use(rehypeRawHtml)
  .use(rehypeSanitize, safeHtml)
  .use(rehypeHeadingIds)
  .use(rehypeHighlight)
  .use(rehypeLinks)
  .use(rehypeStringify)
  .freeze();

/** Of CPU. A real article of 320 kB takes 0.3 s; what needs more than this is an accident or an attack. */
const maxRenderMs = 5000;

/** Renders an article. One that is beyond the limits, or takes too long, is refused. Both can be sent between threads. */
export function render(article: ArticleText, wallMs = maxRenderMs): Outcome {
  const before = process.threadCpuUsage();
  try {
    return withTimeLimit(() => renderWithoutLimit(article), wallMs);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The stack ends where elements are nested by the thousand, which only a mistake or an attack does.
    if (error instanceof RangeError) return refuse('the article is nested too deeply', 1, 'flatten it');
    if (error instanceof MarkdownError) return refuse(error.message, error.line, error.hint);
    if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    const { user, system } = process.threadCpuUsage(before);
    // A busy machine had no time for it: that is no fault of the article.
    if ((user + system) / 1000 < maxRenderMs / 2) return render(article, wallMs * 2);
    const message = `the article takes more than ${maxRenderMs / 1000} s to render`;
    return refuse(message, 1, 'look for very long lines, lists or tables; split it up');
  }
}

const refuse = (message: string, line: number, hint: string): Outcome => ({ refused: { message, line, hint } });

function renderWithoutLimit({ markdown, sitePath }: ArticleText): Rendered {
  checkMarkup(markdown);
  const file = new VFile({ value: markdown, data: { sitePath } });
  const tree = parseMarkdown(markdown);
  checkTables(tree);
  const words = countWords(tree);
  const html = processor.stringify(processor.runSync(tree, file), file);
  return { html, words, references: file.data.references ?? [], ids: [...(file.data.ids ?? [])] };
}

/** V8 can end a computation from outside only where it runs as a script, so the work is called from one. */
const timed = createContext({ work: (): unknown => undefined });
const callWork = new Script('work()');

function withTimeLimit<Result>(work: () => Result, wallMs: number): Result {
  timed.work = work;
  return callWork.runInContext(timed, { timeout: wallMs }) as Result;
}
