/** The strings of a JSON text, with the colon after those that are keys, and the limits of its objects. */
const tokens = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?|[{}]/g;

/**
 * Finds a key that an object of a JSON text has twice. JSON.parse would use the last one, so
 * `{"force":false,"force":true}` would count as a confirmation. Only for texts that JSON.parse accepts: it alone decides
 * what is JSON, and which keys are equal.
 */
export function findDuplicateKey(json: string): string | undefined {
  const objects: Set<string>[] = [];
  for (const [token, string, colon] of json.matchAll(tokens)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (colon !== undefined) {
      const key = JSON.parse(string!) as string;
      const keys = objects.at(-1)!;
      if (keys.has(key)) return key;
      keys.add(key);
    }
  }
  return undefined;
}
