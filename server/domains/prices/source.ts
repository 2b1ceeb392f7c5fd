import { z } from 'zod';
import { parseJson, toRefusal } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import { toIdnaName } from '../names.ts';

const Price = z.number().nonnegative();

/** Prices in EUR for one year. */
export const TldPrices = z.strictObject({ register: Price, renew: Price, transfer: Price });
/** See the schema. */
export type TldPrices = Readonly<z.infer<typeof TldPrices>>;

/** A billing system with prices. */
export interface PriceSource {
  /** Reads the complete prices by TLD: A-labels in lower case, no leading dot. Throws a ProviderError. */
  read(): Promise<ReadonlyMap<string, TldPrices>>;
  close(): Promise<void>;
}

/** The maximum size of a price list; one of all TLDs for ten years has about 1 MB. */
export const maxPriceBytes = 8 * 1024 * 1024;

/** A price of a billing system, `14.95` or `"14.95"`. Zero is a price; a negative or empty value is not. */
export const Amount = z.union([
  Price,
  z
    .string()
    .regex(/^\d+(?:\.\d+)?$/)
    .pipe(z.coerce.number()),
]);

/** Options of a price source. */
export interface PriceSourceOptions {
  readonly timeoutMs: number;
  /** Called with why an entry of the billing system is not on sale. */
  readonly warn: (message: string) => void;
}

/** Collects prices by TLD; what has none is ignored, what is no TLD or a repeated one with a warning. */
export function collectPrices(
  entries: readonly (readonly [tld: string, prices: TldPrices | undefined])[],
  warn: PriceSourceOptions['warn'],
): Map<string, TldPrices> {
  const collected = new Map<string, TldPrices>();
  const ignored: string[] = [];
  for (const [text, prices] of entries) {
    if (!prices) continue;
    const parsed = toIdnaName(text.replace(/^\./, ''));
    // No TLD begins with a digit; such a last label may be of an IP address.
    const isTld = 'name' in parsed && /(?:^|\.)[a-z][^.]*$/.test(parsed.name);
    if (isTld && !collected.has(parsed.name)) collected.set(parsed.name, prices);
    else ignored.push(JSON.stringify(text.slice(0, 64)));
  }
  if (ignored.length > 0) {
    const more = ignored.length > 10 ? ` and ${ignored.length - 10} more` : '';
    warn(`ignored entries that are no TLDs or duplicates: ${ignored.slice(0, 10).join(', ')}${more}`);
  }
  return collected;
}

/** Parses a reply of a billing system. Throws an error with an excerpt of it, for the log only. */
export function parsePrices<Schema extends z.ZodType>(reply: Reply, schema: Schema): z.infer<Schema> {
  const answer = reply.status < 300 ? parseJson(reply.text, schema) : undefined;
  if (answer !== undefined) return answer;
  // Errors may have the status 200; for error statuses the description already has an excerpt.
  throw toRefusal(reply.describe() + (reply.status < 400 ? `: ${reply.text.slice(0, 300)}` : ''));
}
