import type { Root } from 'hast';
import { walk } from './walk.ts';

/**
 * Lets the keyboard scroll code blocks and tables, which may be wider than a narrow screen, and names task boxes for screen
 * readers (WCAG 2.2: 2.1.1 and 4.1.2). It runs after the sanitiser, which would remove these attributes.
 */
export function rehypeAccessible() {
  return (tree: Root): void => {
    walk(tree, (node) => {
      if (node.type !== 'element') return;
      if (node.tagName === 'pre' || node.tagName === 'table') node.properties.tabIndex = 0;
      if (node.tagName === 'input')
        node.properties.ariaLabel = node.properties.checked ? 'Completed task' : 'Incomplete task';
    });
  };
}
