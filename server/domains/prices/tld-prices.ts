import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { isLdhLabel, isWellFormedLabel } from '../label.ts';
import type { Reply } from '../../upstream/client.ts';
import type { TldPrices } from '../types.ts';
import { parseJson, toRefusal } from '../../upstream/reply.ts';

/** The longest price list that is read: one of all TLDs there are, for ten years each, has about 1 MB. */
export const maxPriceBytes = 8 * 1024 * 1024;

/** A price as billing systems write it, `14.95` or `"14.95"`. Zero is a price; what is negative or empty is none. */
export const Amount = z.union([
  z.number().nonnegative(),
  z
    .string()
    .regex(/^\d+(?:\.\d+)?$/)
    .transform(Number)
    .pipe(z.number()),
]);

/** What a price source is created with. */
export interface PriceSourceOptions {
  /** For each request. */
  readonly timeoutMs: number;
  /** Is given, in a sentence for the log, why something that the billing system answers is not on sale. */
  readonly warn: (message: string) => void;
}

/** How many TLDs that are left out are named, and how much of each. */
const namedAtMost = 10;
const nameLength = 64;

/**
 * Puts prices together by TLD. What has none is left out; so is, with a warning, what is no TLD, or one that came
 * before in another spelling.
 */
export function collectPrices(
  entries: Iterable<readonly [tld: string, prices: TldPrices | undefined]>,
  warn: PriceSourceOptions['warn'],
): Map<string, TldPrices> {
  const collected = new Map<string, TldPrices>();
  const leftOut: string[] = [];
  for (const [text, prices] of entries) {
    if (!prices) continue;
    const tld = toTld(text);
    if (tld === undefined || collected.has(tld)) leftOut.push(JSON.stringify(text.slice(0, nameLength)));
    else collected.set(tld, prices);
  }
  if (leftOut.length > 0) {
    const more = leftOut.length > namedAtMost ? ` and ${leftOut.length - namedAtMost} more` : '';
    warn(`left out, as they are no TLDs or there twice: ${leftOut.slice(0, namedAtMost).join(', ')}${more}`);
  }
  return collected;
}

/** The answer of a billing system as a schema has it. Throws what it says instead, for the operator's log alone. */
export function parsePrices<Schema extends z.ZodType>(reply: Reply, schema: Schema): z.infer<Schema> {
  const answer = reply.status < 300 ? parseJson(reply.text, schema) : undefined;
  // Errors also come with the status 200; where the status is an error, the description has the words already.
  const words = reply.status < 400 ? `: ${reply.text.slice(0, 300)}` : '';
  if (answer === undefined) throw toRefusal(reply.describe() + words);
  return answer;
}

/** A TLD as A-labels in lower case without a dot in front, from `de`, `.de` or `рф`; undefined where it is none. */
function toTld(text: string): string | undefined {
  const bare = text.replace(/^\./, '');
  // domainToASCII is a host parser: it would end the name at a slash, and decode per cent signs.
  if (/[^\p{L}\p{M}\p{N}.-]/u.test(bare)) return undefined;
  const labels = domainToASCII(bare).split('.');
  // A last label that begins with a digit is of an IP address, or of nothing there is.
  return labels.every((label) => isLdhLabel(label) && isWellFormedLabel(label)) && /^[a-z]/.test(labels.at(-1)!)
    ? labels.join('.')
    : undefined;
}
