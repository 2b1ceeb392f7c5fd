import { createRequire } from 'node:module';
import type { Element, ElementContent, Root } from 'hast';
import { toText } from 'hast-util-to-text';
import type * as Lowlight from 'lowlight';
import { walk } from './walk.ts';

/** Highlights code blocks of supported languages with highlight.js class names. */
export function rehypeHighlight() {
  return (tree: Root): void => {
    walk(tree, (pre) => {
      if (pre.type !== 'element' || pre.tagName !== 'pre') return;
      for (const code of pre.children) {
        if (code.type === 'element' && code.tagName === 'code') highlight(code);
      }
    });
  };
}

function highlight(code: Element): void {
  const { className } = code.properties;
  if (!Array.isArray(className)) return;
  const language = className.map((name) => /^language-(.+)/.exec(name)?.[1]).find(Boolean);
  if (!language) return;
  className.unshift('hljs');
  if (!isHighlighted(language)) return;
  const text = toText(code, { whitespace: 'pre' });
  try {
    code.children = highlighter!.highlight(language, text).children as ElementContent[];
  } catch {
    // If a grammar fails, the code stays without highlighting.
  }
}

/** Whether code in a language is highlighted. */
export function isHighlighted(language: string): boolean {
  return (highlighter ??= createHighlighter()).registered(language);
}

/** The names of the languages that are highlighted. */
export function highlightedLanguages(): string[] {
  return (highlighter ??= createHighlighter()).listLanguages();
}

/** The names of the languages that highlight.js supports, most of which are not highlighted here. */
export function languageNames(): string[] {
  return Object.keys(load().all);
}

/** Created at first use: the grammars take a fifth of the pipeline's load time. */
let highlighter: ReturnType<typeof Lowlight.createLowlight> | undefined;

/** Languages for server administration that are not in highlight.js's common set. */
const moreLanguages = ['apache', 'dns', 'dockerfile', 'http', 'nginx', 'powershell', 'properties'];

function createHighlighter() {
  const { all, common, createLowlight } = load();
  return createLowlight({ ...common, ...Object.fromEntries(moreLanguages.map((name) => [name, all[name]!])) });
}

function load(): typeof Lowlight {
  return createRequire(import.meta.url)('lowlight') as typeof Lowlight;
}
