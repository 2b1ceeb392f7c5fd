// What serve.ts serves as minisearch.js: the library from node_modules.
export { default } from 'minisearch';
