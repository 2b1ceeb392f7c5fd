import type { PictureSizes } from './media.ts';
import type { ArticleMetadata } from './metadata.ts';
import { sizePlaceholder } from '../markdown/plugins/rehype-pictures.ts';
import type { Picture } from '../markdown/plugins/rehype-pictures.ts';
import type { Rendered } from '../markdown/render.ts';
import type { Size } from '../source/media/facts.ts';

/** Fills the sizes of its pictures into the HTML of an article, so that a page does not move when they are loaded. */
export function fillSizes({ html, pictures }: Rendered, sizes: PictureSizes): string {
  const [start = '', ...rest] = html.split(sizePlaceholder);
  return rest.reduce((filled, part, index) => {
    const picture = pictures[index]!;
    return filled + toAttributes(picture, sizes.get(picture.path)) + part;
  }, start);
}

/** Whether the pictures of an article still have the sizes that its HTML says. */
export function hasCurrentSizes({ pictures }: ArticleMetadata, sizes: PictureSizes): boolean {
  return pictures.every(({ path, size }) => {
    const current = sizes.get(path);
    return current?.width === size?.width && current?.height === size?.height;
  });
}

/** A browser needs both lengths; one that the author wrote decides about the other. */
function toAttributes({ width, height }: Picture, size: Size | undefined): string {
  const lengths = {
    width: width ?? (size && (height === undefined ? size.width : Math.round((height * size.width) / size.height))),
    height: height ?? (size && (width === undefined ? size.height : Math.round((width * size.height) / size.width))),
  };
  return Object.entries(lengths)
    .map(([name, length]) => (length === undefined ? '' : ` ${name}="${length}"`))
    .join('');
}
