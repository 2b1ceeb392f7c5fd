import GithubSlugger from 'github-slugger';
import type { Root } from 'hast';
import { toString } from 'hast-util-to-string';
import type { VFile } from 'vfile';
import { walk } from './walk.ts';

/** The prefix for the IDs of raw HTML, added by the sanitiser, and for the IDs below. */
export const idPrefix = 'user-content-';

/**
 * IDs that shadow a property of `window` or `document` ("DOM clobbering"). Heading IDs are in lower case, so names with a
 * capital letter are not listed.
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

/** Converts an anchor name to an ID that is safe from DOM clobbering. */
export function toSafeId(anchor: string): string {
  return clobbering.has(anchor) ? `${idPrefix}${anchor}` : anchor;
}

/**
 * Gives each heading an ID made from its text, as GitHub does, and collects all IDs in `file.data.ids`. It runs after the
 * sanitiser, which would prefix these IDs.
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
