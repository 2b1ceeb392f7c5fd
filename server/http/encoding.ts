import { LRUCache } from 'lru-cache';

/** The encodings of stored files. */
export type Encoding = 'identity' | 'gzip' | 'br';

/** Which encodings a file has beside `identity`. */
type Available = { readonly [encoding in Exclude<Encoding, 'identity'>]?: unknown };

/** Browsers and CDNs send few different headers, and to parse one takes as long as the rest of the choice. */
const parsed = new LRUCache<string, ReadonlyMap<string, number>>({ max: 100, memoMethod: parseWeights });

/**
 * Picks the encoding of an answer (RFC 9110 12.5.3): of those available the one that the client weighs most, brotli
 * where it weighs both the same. `identity` where it accepts none of them: such an answer is better than none.
 */
export function negotiateEncoding(header: string | undefined, available: Available): Encoding {
  if (!header) return 'identity';
  const weights = parsed.memo(header);
  let best: Encoding = 'identity';
  let bestWeight = weights.get('identity') ?? 0;
  for (const encoding of ['br', 'gzip'] as const) {
    if (!available[encoding]) continue;
    const weight = weights.get(encoding) ?? weights.get('*') ?? 0;
    if (weight > bestWeight || (weight === bestWeight && weight > 0 && best === 'identity')) {
      best = encoding;
      bestWeight = weight;
    }
  }
  return best;
}

function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(coding, weight === undefined ? 1 : Number(weight.slice('q='.length)) || 0);
  }
  return weights;
}
