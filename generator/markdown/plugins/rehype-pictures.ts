import type { Properties, Root } from 'hast';
import type { VFile } from 'vfile';
import { walk } from './walk.ts';

/** An own picture in the HTML of an article, with the width or height that its author wrote. */
export interface Picture {
  /** Its site path. */
  readonly path: string;
  readonly width: number | undefined;
  readonly height: number | undefined;
}

declare module 'vfile' {
  interface DataMap {
    /** The pictures whose size is to be filled in, in their order. */
    pictures: Picture[];
  }
}

/** An attribute value that no article can contain: the HTML parser replaces NUL characters. */
const placeholder = '\0';

/** The attribute in the HTML that stands for the size of each of the pictures. */
export const sizePlaceholder = ' data-size="&#x0;"';

/**
 * Lets browsers load own pictures when they are needed, and reserves a place for their sizes, which this pipeline does not
 * know: they change when a picture is replaced. It runs after the links are rewritten to site paths.
 */
export function rehypePictures() {
  return (tree: Root, file: VFile): void => {
    const pictures: Picture[] = [];
    walk(tree, (node) => {
      if (node.type !== 'element' || node.tagName !== 'img') return;
      const { properties } = node;
      const [path] = /^\/media\/[^?#]+/.exec(String(properties.src)) ?? [];
      if (path === undefined) return;
      const [width, height] = [toLength(properties.width), toLength(properties.height)];
      if (width !== 'percentage' && height !== 'percentage' && (width === undefined || height === undefined)) {
        pictures.push({ path, width, height });
        Object.assign(properties, { width: undefined, height: undefined, dataSize: placeholder });
      }
      properties.loading = 'lazy';
      properties.decoding = 'async';
    });
    file.data.pictures = pictures;
  };
}

/** The number of pixels of a width or height; undefined if browsers ignore it. */
function toLength(value: Properties[string]): number | 'percentage' | undefined {
  const [, number, rest = ''] = /^\s*(\d+(?:\.\d+)?)(.*)$/s.exec(String(value)) ?? [];
  if (number === undefined) return undefined;
  return rest.startsWith('%') ? 'percentage' : Number(number);
}
