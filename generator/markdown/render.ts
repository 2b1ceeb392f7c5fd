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

/**
 * Renders articles, each given by its Markdown and its site path. In place of one that is beyond the limits or takes too
 * long stands a {@link MarkdownError}.
 */
export function renderAll(
  articles: readonly { readonly markdown: string; readonly sitePath: string }[],
  wallMs = maxRenderMs,
): (Rendered | MarkdownError)[] {
  const outcomes: (Rendered | MarkdownError)[] = [];
  const before = process.threadCpuUsage();
  try {
    // To set a limit costs as much as to render a short article: they share one.
    withTimeLimit(() => {
      for (const { markdown, sitePath } of articles) outcomes.push(render(markdown, sitePath));
    }, wallMs);
    return outcomes;
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    const { user, system } = process.threadCpuUsage(before);
    // A busy machine had no time for it: that is no fault of the article.
    const isStarved = (user + system) / 1000 < maxRenderMs / 2;
    if (articles.length === 1) return isStarved ? renderAll(articles, wallMs * 2) : [tooSlow];
    // Whichever it was: from here on, each has the time for itself.
    return [...outcomes, ...articles.slice(outcomes.length).flatMap((article) => renderAll([article]))];
  }
}

const tooSlow = new MarkdownError(
  `the article takes more than ${maxRenderMs / 1000} s to render`,
  1,
  'look for very long lines, lists or tables; split it up',
);

function render(markdown: string, sitePath: string): Rendered | MarkdownError {
  try {
    checkMarkup(markdown);
    const file = new VFile({ value: markdown, data: { sitePath } });
    const tree = parseMarkdown(markdown);
    checkTables(tree);
    const words = countWords(tree);
    const html = processor.stringify(processor.runSync(tree, file), file);
    return { html, words, references: file.data.references ?? [], ids: file.data.ids ?? [] };
  } catch (error) {
    if (error instanceof MarkdownError) return error;
    // The stack ends where elements are nested by the thousand, which only a mistake or an attack does.
    if (error instanceof RangeError) return new MarkdownError('the article is nested too deeply', 1, 'flatten it');
    throw error;
  }
}

/** V8 can end a computation from outside only where it runs as a script, so the work is called from one. */
const timed = createContext({ work: (): unknown => undefined });
const callWork = new Script('work()');

function withTimeLimit(work: () => void, wallMs: number): void {
  timed.work = work;
  callWork.runInContext(timed, { timeout: wallMs });
}
