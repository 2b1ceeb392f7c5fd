import { createRequire } from 'node:module';
import type { Element, ElementContent, Root } from 'hast';
import { toText } from 'hast-util-to-text';
import type { HLJSApi, HighlightResult, LanguageFn } from 'highlight.js';
import { walk } from './walk.ts';

/** The languages of highlight.js's own selection, and those of people who run servers. */
const languages = (
  'arduino bash c cpp csharp css diff go graphql ini java javascript json kotlin less lua makefile markdown ' +
  'objectivec perl php php-template plaintext python python-repl r ruby rust scss shell sql swift typescript vbnet ' +
  'wasm xml yaml apache dns dockerfile http nginx powershell properties'
).split(' ');

/** Marks up the code of blocks whose language is known, with highlight.js's class names. */
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
  highlighter ??= createHighlighter();
  if (!highlighter.getLanguage(language)) return;
  const [text] = code.children;
  const value = code.children.length === 1 && text?.type === 'text' ? text.value : toText(code, { whitespace: 'pre' });
  const { errorRaised, _emitter: tokens } = highlighter.highlight(value, {
    language,
    ignoreIllegals: true,
  }) as Highlighted;
  // A grammar that breaks leaves the rest of the code out.
  if (errorRaised || value === '') return;
  code.children = toHast(tokens.root.children);
}

/** Made when the first block asks for it: the grammars take a fifth of the time that the whole pipeline takes to load. */
let highlighter: HLJSApi | undefined;

function createHighlighter(): HLJSApi {
  const require = createRequire(import.meta.url);
  const created = (require('highlight.js/lib/core') as HLJSApi).newInstance();
  for (const name of languages) {
    created.registerLanguage(name, require(`highlight.js/lib/languages/${name}`) as LanguageFn);
  }
  return created;
}

/** What highlight.js makes its HTML from. */
interface Token {
  readonly scope?: string;
  readonly children: readonly (Token | string)[];
}

type Highlighted = HighlightResult & { readonly _emitter: { readonly root: Token } };

function toHast(tokens: readonly (Token | string)[]): ElementContent[] {
  return tokens.flatMap((token): ElementContent | ElementContent[] => {
    if (typeof token === 'string') return { type: 'text', value: token };
    const children = toHast(token.children);
    if (token.scope === undefined) return children;
    return { type: 'element', tagName: 'span', properties: { className: toClasses(token.scope) }, children };
  });
}

/** `title.function` has the classes `hljs-title function_`; what is in another language has its name. */
function toClasses(scope: string): string[] {
  if (scope.startsWith('language:')) return [scope.slice('language:'.length)];
  return scope.split('.').map((name, depth) => (depth === 0 ? `hljs-${name}` : `${name}${'_'.repeat(depth)}`));
}
