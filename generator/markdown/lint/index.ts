import type { Nodes, Root } from 'mdast';
import type { VFile } from 'vfile';
import { walk } from '../plugins/walk.ts';
import { alerts } from './alerts.ts';
import { codeLanguages } from './code-languages.ts';
import { conflictMarkers } from './conflict-markers.ts';
import { fenceMeta } from './fence-meta.ts';
import { fences } from './fences.ts';
import { headings } from './headings.ts';
import { links } from './links.ts';
import { pictures } from './pictures.ts';
import { references } from './references.ts';
import { removedElements } from './removed-elements.ts';
import { startOf } from './rule.ts';
import type { Finding, LintedArticle, Rule } from './rule.ts';
import { tables } from './tables.ts';
import { templates } from './templates.ts';
import { unclosedElements } from './unclosed-elements.ts';

/** All rules by name. */
const rules: Readonly<Record<string, Rule>> = {
  alert: alerts,
  'code-language': codeLanguages,
  'conflict-marker': conflictMarkers,
  fence: fences,
  'fence-meta': fenceMeta,
  heading: headings,
  link: links,
  picture: pictures,
  reference: references,
  'removed-element': removedElements,
  table: tables,
  template: templates,
  'unclosed-element': unclosedElements,
};

declare module 'vfile' {
  interface DataMap {
    /** The probable mistakes in the Markdown. */
    findings: Finding[];
  }
}

/** Finds probable mistakes in the Markdown and collects them in `file.data.findings`. It runs after the alerts are made. */
export function remarkLint() {
  return (tree: Root, file: VFile): void => {
    const text = { ...toArticleText(String(file)), sitePath: file.data.sitePath ?? '/' };
    const found: Found[] = [];
    const visitors = Object.entries(rules).map(([name, rule]) => rule({ ...text, ...toReports(name, found) }));
    const byType = new Map<string, ((node: never) => void)[]>();
    for (const { end: _, ...visitor } of visitors) {
      for (const [type, visit] of Object.entries(visitor)) byType.set(type, [...(byType.get(type) ?? []), visit]);
    }
    walk(tree, (node) => {
      for (const visit of byType.get(node.type) ?? []) visit(node as never);
    });
    for (const { end } of visitors) end?.();
    // Between conflict markers the text is not what its author means.
    const conflicts = found.filter(({ rule }) => rule === 'conflict-marker');
    file.data.findings = toFindings(conflicts.length > 0 ? conflicts : found, text.source);
  };
}

/** A finding with the offset of its place. */
type Found = Omit<Finding, 'line' | 'column'> & { readonly offset: number };

function toReports(rule: string, found: Found[]): Pick<LintedArticle, 'warn' | 'error'> {
  return {
    warn: (offset, message, hint) => void found.push({ severity: 'warning', rule, message, hint, offset }),
    error: (offset, message, hint) => void found.push({ severity: 'error', rule, message, hint, offset }),
  };
}

function toFindings(found: readonly Found[], source: string): Finding[] {
  let line = 1;
  let lineStart = 0;
  return found
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, ...finding }) => {
      for (let next = source.indexOf('\n', lineStart); next >= 0 && next < offset;) {
        line += 1;
        lineStart = next + 1;
        next = source.indexOf('\n', lineStart);
      }
      return { ...finding, line, column: offset - lineStart + 1 };
    });
}

function toArticleText(source: string): Pick<LintedArticle, 'source' | 'sourceOf' | 'plainTextOf'> {
  const sourceOf = (node: Nodes): string => source.slice(startOf(node), node.position?.end.offset ?? 0);
  const plainTexts = new Map<Nodes, string>();
  return {
    source,
    sourceOf,
    plainTextOf(node) {
      const text = plainTexts.get(node) ?? toPlainText(node, sourceOf(node));
      plainTexts.set(node, text);
      return text;
    },
  };
}

const notPlainText = new Set(
  'inlineCode html link linkReference image imageReference footnoteReference'.split(' ') as Nodes['type'][],
);

function toPlainText(parent: Nodes, source: string): string {
  const start = startOf(parent);
  let text = '';
  walk(parent, (node) => {
    if (!notPlainText.has(node.type) || !node.position) return undefined;
    const end = node.position.end.offset! - start;
    text += source.slice(text.length, startOf(node) - start);
    // Line breaks stay, so that offsets and lines are the same.
    text += source.slice(text.length, end).replace(/[^\n]/g, ' ');
    return false;
  });
  return (text + source.slice(text.length)).replace(/\\[!-/:-@[-`{-~]/g, '  ');
}
