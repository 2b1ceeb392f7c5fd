import type { ArgsDef } from 'citty';

/** Where sources are, and how strictly they are taken. */
export const sourceArgs = {
  content: { type: 'string', default: 'content', valueHint: 'DIR', description: 'Markdown and media' },
  catalog: { type: 'string', default: 'catalog', valueHint: 'DIR', description: 'plans, domains and monitors' },
  lenient: { type: 'boolean', default: false, description: 'take dead links and missing media for warnings' },
} satisfies ArgsDef;

/** Where releases are kept. */
export const outArg = {
  out: { type: 'string', valueHint: 'DIR', description: 'where releases are kept; DIST_DIR or dist if left out' },
} satisfies ArgsDef;
