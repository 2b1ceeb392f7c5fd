import { z } from 'zod';

/** Where the store is, by the names of environment variables. */
export const StoreSettings = z.object({
  DATA_DIR: z.string().default('.data').describe('Where SQLite and the logs of local servers are kept.'),
  DATABASE_URL: z
    .string()
    .refine(
      (text) => ['postgres:', 'postgresql:'].includes(URL.parse(text)?.protocol ?? ''),
      'must be a URL such as postgres://user:password@host/database',
    )
    .optional()
    .describe('A PostgreSQL database, `postgres://...`, which instances may share; without it, SQLite in `DATA_DIR`.'),
});
export type StoreSettings = z.infer<typeof StoreSettings>;
