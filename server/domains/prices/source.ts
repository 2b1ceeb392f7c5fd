import { z } from 'zod';
import { ForeignNumber, parseReply } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';

const NonNegative = z.number().nonnegative();

/** Prices in EUR for one year. */
export const TldPrices = z.strictObject({ register: NonNegative, renew: NonNegative, transfer: NonNegative });
export type TldPrices = Readonly<z.infer<typeof TldPrices>>;

/** A TLD as the billing system writes it; the prices are undefined if incomplete. */
export type TldEntry = readonly [tld: string, prices: TldPrices | undefined];

/** A billing system with prices. */
export interface PriceSource {
  /** Reads the prices. Throws a ProviderError. */
  read(): Promise<readonly TldEntry[]>;
  close(): Promise<void>;
}

/** The maximum size of a price list; ten years of all TLDs have about 1 MB. */
export const maxPriceBytes = 8 * 1024 * 1024;

/** A price of a billing system, `14.95` or `"14.95"`. Zero is valid; a negative or empty value is not. */
export const Amount = ForeignNumber.pipe(NonNegative);

export interface PriceSourceOptions {
  readonly timeoutMs: number;
  /** Reports why prices are not on sale. */
  readonly warn: (message: string) => void;
}

/** Parses a reply of a billing system. Throws an error with an excerpt of the reply, for the log only. */
export function parsePrices<Schema extends z.ZodType>(reply: Reply, schema: Schema): z.infer<Schema> {
  // Errors may have status 200; the description of an error status already has an excerpt.
  return parseReply(reply, schema, { detail: reply.status < 400 ? `: ${reply.text.slice(0, 300)}` : '' });
}
