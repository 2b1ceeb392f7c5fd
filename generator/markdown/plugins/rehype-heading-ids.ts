import GithubSlugger from 'github-slugger';
import type { Root } from 'hast';
import { toString } from 'hast-util-to-string';
import type { VFile } from 'vfile';
import { walk } from './walk.ts';

/** What the sanitiser puts before the ids of raw HTML, and we before the ones below. */
export const idPrefix = 'user-content-';

/**
 * Ids that scripts of a page could mistake for a property of `window` or `document` ("DOM clobbering"). Heading ids
 * are in lower case, so names with a capital cannot be hit.
 */
const clobbering = new Set(
  (
    '__proto__ alert all anchors applets append attributes blur body caches children clear close closed confirm ' +
    'constructor contains cookie crypto dir doctype document domain embeds event external fetch find focus fonts ' +
    'forms frames fullscreen head hidden history id images implementation length links location name navigator ' +
    'normalize open opener origin parent performance plugins prepend print process prompt prototype referrer ' +
    'remove require root screen scripts scroll self status stop style submit target title toolbar top window write writeln'
  ).split(' '),
);

/** The id that an element of this anchor name gets. */
export function toSafeId(anchor: string): string {
  return clobbering.has(anchor) ? `${idPrefix}${anchor}` : anchor;
}

/**
 * Gives each heading an id made from its text, as GitHub does, and notes all ids in `file.data.ids`. Runs behind the
 * sanitiser: the ids are our own.
 */
export function rehypeHeadingIds() {
  return (tree: Root, file: VFile): void => {
    const slugger = new GithubSlugger();
    const ids = new Set<string>();
    walk(tree, (node) => {
      if (node.type !== 'element') return;
      const { properties, tagName } = node;
      if (/^h[1-6]$/.test(tagName) && properties.id === undefined) {
        const slug = slugger.slug(toString(node).trim());
        if (slug) properties.id = toSafeId(slug);
      }
      if (typeof properties.id === 'string') ids.add(properties.id);
      if (tagName === 'a' && typeof properties.name === 'string') ids.add(properties.name);
    });
    file.data.ids = ids;
  };
}
