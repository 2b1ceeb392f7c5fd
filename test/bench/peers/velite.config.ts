import rehypeSanitize from 'rehype-sanitize';
import rehypeSlug from 'rehype-slug';
import { defineCollection, defineConfig, s } from 'velite';

const article = s.object({
  title: s.string(),
  description: s.string(),
  date: s.string().optional(),
  author: s.string().optional(),
  cover: s.string().optional(),
  path: s.path(),
  body: s.raw(),
  html: s.markdown(),
});
const collection = (name: string, folder: string) =>
  defineCollection({ name, pattern: `${folder}/**/*.md`, schema: article });

/** One JSON file per collection, Velite's default. */
// oxlint-disable-next-line import/no-default-export
export default defineConfig({
  root: process.env.BENCH_CONTENT!,
  output: { data: process.env.BENCH_OUT!, assets: `${process.env.BENCH_OUT}/assets`, clean: true },
  markdown: { gfm: true, copyLinkedFiles: false, rehypePlugins: [rehypeSlug, rehypeSanitize] },
  collections: { blog: collection('Blog', 'blog'), knowledgebase: collection('KnowledgeBase', 'knowledgebase') },
});
