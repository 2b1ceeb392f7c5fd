import { BlogFrontMatter } from '#contract/blog.ts';
import type { ContentItem } from '#contract/blog.ts';
import { compareText } from '../../source/diagnostics.ts';
import { toReadTime } from '../../markdown/text.ts';
import type { Collection } from './collection.ts';

/** The blog: dated articles with an author and a cover, newest first. */
export const blog: Collection<BlogFrontMatter, ContentItem> = {
  folder: 'blog',
  frontMatter: BlogFrontMatter,
  articleFile: 'getBlogArticle',
  dueOn: ({ date }) => date,
  media: ({ cover }) => ({ cover }),
  findMistakes: ({ date, updated }) =>
    date !== undefined && updated !== undefined && updated < date
      ? [
          {
            field: 'updated',
            message: '"updated" is before "date"',
            hint: 'write the day of the last change, or remove the line',
          },
        ]
      : [],
  toListed: ({ title, description, date, author, cover }, { path, category, words }) => ({
    title,
    description,
    path,
    category,
    date,
    author,
    readTime: toReadTime(words),
    cover,
  }),
  compare: (a, b) => compareText(b.date, a.date) || compareText(a.path, b.path),
};
