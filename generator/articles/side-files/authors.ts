import type { ContentItem } from '#contract/blog.ts';
import { compareText } from '../../source/diagnostics.ts';
import { toFile } from './side-file.ts';
import type { SideFile } from './side-file.ts';

/** The authors of blog articles, with the picture and the page that `authors.yaml` gives them. */
export const authors: SideFile = ({ blog, authors: entries }) => {
  const byName = Map.groupBy(blog, ({ metadata }) => (metadata.item as ContentItem).author);
  const list = [...byName].map(([name, own]) => {
    const { picture = null, url = null } = Object.hasOwn(entries, name) ? entries[name]! : {};
    return { name, picture, url, count: own.length };
  });
  return [
    toFile(
      'blogAuthors',
      list.toSorted((a, b) => compareText(a.name, b.name)),
    ),
  ];
};
