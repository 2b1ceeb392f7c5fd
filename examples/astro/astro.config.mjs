import { defineConfig } from 'astro/config';
import { read } from './src/api.mjs';

export default defineConfig({
  site: 'https://www.example.com',
  // After a change of the redirects, Astro reads all articles again.
  redirects: await read('/v1/redirects.json'),
});
