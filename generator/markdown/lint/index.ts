import type { Root } from 'mdast';
import { walk } from '../plugins/walk.ts';
import { alerts, conflictMarkers, headings, tables, templates } from './blocks.ts';
import { codeLanguages, fenceMeta, fences } from './code.ts';
import { removedElements, unclosedElements } from './html.ts';
import { links, pictures, references } from './links.ts';
import { readSource, startOf, tagsIn } from './rule.ts';
import type { LintFinding, Rule } from './rule.ts';

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

/** A finding with the offset of its place. */
type Found = Omit<LintFinding, 'line' | 'column'> & { readonly offset: number };

/** Finds probable mistakes in the Markdown of the article at a site path, in which alerts are made already. */
export function lint(tree: Root, markdown: string, sitePath: string): LintFinding[] {
  const found: Found[] = [];
  const text = readSource(markdown);
  const visitors = Object.entries(rules).map(([rule, start]) => {
    const report = (severity: LintFinding['severity']) => (offset: number, message: string, hint?: string) =>
      void found.push({ severity, rule, message, hint, offset });
    return start({ ...text, sitePath, warn: report('warning'), error: report('error') });
  });
  const byEvent = new Map<string, ((subject: never) => void)[]>();
  for (const [event, visit] of visitors.flatMap(Object.entries) as [string, () => void][]) {
    byEvent.set(event, [...(byEvent.get(event) ?? []), visit]);
  }
  const emit = (event: string, subject?: unknown): void =>
    byEvent.get(event)?.forEach((visit) => visit(subject as never));
  walk(tree, (node) => {
    emit(node.type, node);
    if (node.type === 'html') for (const tag of tagsIn(text.sourceOf(node), startOf(node))) emit('tag', tag);
  });
  emit('end');
  // Between conflict markers the text is not what its author means.
  const conflicts = found.filter(({ rule }) => rule === 'conflict-marker');
  return toFindings(conflicts.length > 0 ? conflicts : found, markdown);
}

function toFindings(found: readonly Found[], source: string): LintFinding[] {
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
