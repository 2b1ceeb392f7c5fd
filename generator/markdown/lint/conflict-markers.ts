import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

const marker = /^(?:<{7}|={7}|>{7})(?=[ \t]|$).*$/gm;

/** Finds unresolved merge conflicts. In a code block they may be an example. */
export const conflictMarkers: Rule = ({ source, error }) => {
  if (!/^(?:<{7}|>{7})(?:[ \t]|$)/m.test(source)) return {};
  const code: { from: number; to: number }[] = [];
  return {
    code: (node) => void code.push({ from: startOf(node), to: node.position?.end.offset ?? 0 }),
    end() {
      let state: 'none' | 'ours' | 'separated' = 'none';
      for (const { index, 0: line } of source.matchAll(marker)) {
        if (code.some(({ from, to }) => from <= index && index < to)) continue;
        const isOpening = line.startsWith('<');
        const isClosing = line.startsWith('>');
        // The first marker may have been deleted. The last one alone is a nested quote.
        if (isOpening || (isClosing && state === 'separated')) {
          error(
            index,
            'a merge conflict is not resolved',
            'keep one of the two texts and delete the lines with <<<<<<<, ======= and >>>>>>>',
          );
        }
        if (isOpening) state = 'ours';
        else if (isClosing) state = 'none';
        else if (state === 'none') state = 'separated';
      }
    },
  };
};
