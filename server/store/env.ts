import { z } from 'zod';

/** The settings of the store, named as their environment variables. */
export const StoreSettings = z.object({
  DATA_DIR: z.string().default('.data'),
  /** A PostgreSQL database; without it the store is a SQLite file in DATA_DIR. */
  DATABASE_URL: z
    .string()
    .refine(
      (text) => ['postgres:', 'postgresql:'].includes(URL.parse(text)?.protocol ?? ''),
      'must be a URL such as postgres://user:password@host/database',
    )
    .optional(),
});
export type StoreSettings = z.infer<typeof StoreSettings>;
