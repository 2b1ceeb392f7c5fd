import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Query } from './database.ts';
import { openTable } from './table.ts';

const Secret = z.object({ value: z.string().regex(/^[A-Za-z0-9_-]{43}$/) });

/** Opens the random secrets of 256 bits in base64url. Each is created at its first call, and shared by all instances. */
export function createSecrets(query: Query): (name: string) => Promise<string> {
  const secrets = openTable(query, 'hosting_secrets', ['name'], Secret);
  return async (name) => {
    const find = () => secrets.select('WHERE name = $1', [name]);
    const [existing] = await find();
    if (existing) return existing.value;
    const value = randomBytes(32).toString('base64url');
    await query('INSERT INTO hosting_secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [name, value]);
    // Another instance may have been first.
    const [stored] = await find();
    return stored!.value;
  };
}
