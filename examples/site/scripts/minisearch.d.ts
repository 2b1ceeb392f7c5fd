// Types of minisearch.js, which serve.ts serves from node_modules.
export { default } from 'minisearch';
