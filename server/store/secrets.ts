import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Query } from './database.ts';
import { openTable } from './table.ts';

const Secret = z.object({ value: z.string().regex(/^[A-Za-z0-9_-]{43}$/) });

/** The way to random secrets of 256 bits in base64url, each made at its first call and the same for all instances ever after. */
export function createSecrets(query: Query): (name: string) => Promise<string> {
  const secrets = openTable(query, 'hosting_secrets', ['name'], Secret);
  return async (name) => {
    const find = () => secrets.select('WHERE name = $1', [name]);
    const [known] = await find();
    if (known) return known.value;
    const made = randomBytes(32).toString('base64url');
    await query('INSERT INTO hosting_secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [name, made]);
    // Another instance may have been first.
    const [kept] = await find();
    return kept!.value;
  };
}
