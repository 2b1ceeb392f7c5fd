/** Collects the bytes of a stream, or at least the last `tailBytes`; undefined if there are more, which are not read. */
export async function collect(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  tailBytes = maxBytes,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let kept = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
    kept += chunk.length;
    while (kept - chunks[0]!.length >= tailBytes) kept -= chunks.shift()!.length;
  }
  return Buffer.concat(chunks);
}
