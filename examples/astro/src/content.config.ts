import { defineCollection } from 'astro:content';
import { read } from './api.mjs';

/** Reads the articles that have changed since the last build; Astro keeps the others in node_modules/.astro. */
const articles = defineCollection({
  loader: {
    name: 'hosting-api',
    async load({ store }) {
      const hashes: Record<string, string> = (await read('/v1/content.json')).articles;
      for (const path of store.keys()) if (!(path in hashes)) store.delete(path);
      const changed = Object.entries(hashes).filter(([path, digest]) => store.get(path)?.digest !== digest);
      while (changed.length > 0) {
        const some = changed.splice(0, 50).map(async ([path, digest]) => {
          const kind = path.startsWith('/blog/') ? 'blog' : 'kb';
          // Astro holds all articles in memory: keep only what the page shows.
          const { title, description, date, html } = await read(`/v1/${kind}/article?path=${path}`);
          store.set({ id: path, digest, data: { title, description, date, html } });
        });
        await Promise.all(some);
      }
    },
  },
});

export const collections = { articles };
