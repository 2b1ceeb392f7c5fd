import { parentPort, workerData } from 'node:worker_threads';
import rehypeSanitize from 'rehype-sanitize';
import rehypeStringify from 'rehype-stringify';
import remarkRehype from 'remark-rehype';
import { unified } from 'unified';
import { mapWithTimeLimit } from '#common/time-limit.ts';
import { MarkdownError, checkMarkup, checkTables } from './limits.ts';
import { lint } from './lint/index.ts';
import type { LintFinding } from './lint/rule.ts';
import { parseMarkdown } from './parse.ts';
import { highlightedLanguages, keepFenceMeta } from './plugins/code.ts';
import { loadHtmlParser, makeAlert, rehypeRawHtml, safeHtml } from './plugins/html.ts';
import { addTrusted } from './plugins/trusted.ts';
import type { Targets } from './plugins/trusted.ts';
import { walk } from './plugins/walk.ts';
import { countWords } from './text.ts';

/** The rendered Markdown of an article. */
export interface Rendered extends Targets {
  /** Sanitised HTML; it never contains scripts. The sizes of its pictures are not filled in. */
  readonly html: string;
  readonly words: number;
  /** Probable mistakes in the Markdown. */
  readonly findings: readonly LintFinding[];
}

/** An article to render. */
export interface ArticleText {
  readonly markdown: string;
  readonly sitePath: string;
}

/** A rendered article, or the reason why it was rejected. */
export type RenderResult = Rendered | { readonly rejected: Pick<MarkdownError, 'message' | 'line' | 'hint'> };

/** The limit of CPU time for an article; a real one of 320 kB takes 0.3 s. */
const maxRenderMs = 5000;

/** Renders articles, or returns for each which limit it exceeds. Parameter and result can be sent between threads. */
export function renderAll(articles: readonly ArticleText[]): RenderResult[] {
  // Before the time runs: a module whose loading is ended by the limit can never be loaded again.
  if (articles.some(({ markdown }) => /<[a-z]/i.test(markdown))) loadHtmlParser();
  if (articles.some(({ markdown }) => /```|~~~|language-/.test(markdown))) highlightedLanguages();
  return mapWithTimeLimit(articles, render, maxRenderMs).map((result) => {
    const message = `the article takes more than ${maxRenderMs / 1000} s to render`;
    return result ?? reject(message, 1, 'look for very long lines, lists or tables; split it up');
  });
}

/** In a thread of the renderer, each message is a list of articles. */
if (workerData === 'render') {
  parentPort?.on('message', (articles: ArticleText[]) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    parentPort!.postMessage(renderAll(articles));
  });
}

const reject = (message: string, line: number, hint: string): RenderResult => ({ rejected: { message, line, hint } });

/** From Markdown to safe HTML. What {@link addTrusted} adds to the tree, the sanitiser would remove. */
const processor = unified()
  .use(remarkRehype, { allowDangerousHtml: true, clobberPrefix: '' })
  .use(rehypeRawHtml)
  .use(rehypeSanitize, safeHtml)
  .use(rehypeStringify)
  .freeze();

function render({ markdown, sitePath }: ArticleText): RenderResult {
  try {
    checkMarkup(markdown);
    const tree = parseMarkdown(markdown);
    checkTables(tree);
    const words = countWords(tree);
    walk(tree, (node) => {
      if (node.type === 'blockquote') makeAlert(node, markdown);
      else if (node.type === 'code') keepFenceMeta(node);
    });
    const findings = lint(tree, markdown, sitePath);
    const safe = processor.runSync(tree);
    const targets = addTrusted(safe, sitePath);
    return { html: processor.stringify(safe), words, findings, ...targets };
  } catch (error) {
    // Thousands of nested elements overflow the stack.
    if (error instanceof RangeError) return reject('the article is nested too deeply', 1, 'flatten it');
    if (error instanceof MarkdownError) return reject(error.message, error.line, error.hint);
    throw error;
  }
}
