import { defineConfig } from 'astro/config';
import { read } from './src/api.mjs';

// After a change of the redirects, Astro reads all articles again.
export default defineConfig({ site: 'https://www.example.com', redirects: await read('/v1/redirects.json') });
