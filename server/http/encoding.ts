/** Headers that are remembered. */
const remembered = 100;

/** Creates {@link negotiateEncoding} for what is available; it remembers what it said, as browsers send few headers. */
export function createNegotiator(available: readonly string[]): (header: string) => string {
  const known = new Map<string, string>();
  return (header) => {
    let encoding = known.get(header);
    if (encoding === undefined) {
      encoding = negotiateEncoding(header, available);
      if (known.size >= remembered) known.clear();
      known.set(header, encoding);
    }
    return encoding;
  };
}

/**
 * Picks the encoding of an answer (RFC 9110 12.5.3): of those available, best first, the one that the client weighs
 * most; `identity` where it takes none of them, since an answer that it did not ask for beats none.
 */
function negotiateEncoding(header: string, available: readonly string[]): string {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(coding, weight === undefined ? 1 : Number(weight.slice('q='.length)) || 0);
  }
  let best = 'identity';
  let bestWeight = weights.get('identity') ?? 0;
  for (const coding of available) {
    const weight = weights.get(coding) ?? weights.get('*') ?? 0;
    if (weight > bestWeight || (weight === bestWeight && weight > 0 && best === 'identity')) {
      best = coding;
      bestWeight = weight;
    }
  }
  return best;
}
