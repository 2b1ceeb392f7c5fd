import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';
import { attributeOf, tagsIn } from './tags.ts';

const message = 'the picture has no description';

/** Finds pictures without a description. */
export const pictures: Rule = ({ sourceOf, warn }) => ({
  image(node) {
    if (!node.alt?.trim()) warn(startOf(node), message, `write what it shows: ![text](${node.url})`);
  },
  imageReference(node) {
    if (!node.alt?.trim()) warn(startOf(node), message, `write what it shows: ![text][${node.label ?? ''}]`);
  },
  html(node) {
    for (const tag of tagsIn(sourceOf(node))) {
      // An empty description means that the picture shows nothing.
      if (tag.name !== 'img' || attributeOf(tag, 'alt')) continue;
      warn(startOf(node) + tag.offset, message, 'add alt="what it shows", or alt="" if it shows nothing');
    }
  },
});
