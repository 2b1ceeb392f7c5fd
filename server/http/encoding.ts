import { LRUCache } from 'lru-cache';

/** The content codings of stored files. */
export type Encoding = 'identity' | 'gzip' | 'br';

/** The encodings of a file besides `identity`. */
type Available = { readonly [encoding in Exclude<Encoding, 'identity'>]?: unknown };

/** A cache: browsers and CDNs send few different headers, and parsing takes half of the negotiation time. */
const parsed = new LRUCache<string, ReadonlyMap<string, number>>({ max: 100, memoMethod: parseWeights });

/**
 * Picks the encoding of a response (RFC 9110 12.5.3): the available one with the highest weight, and brotli if weights
 * are equal. Returns `identity` if the client accepts none: that is better than a 406.
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
