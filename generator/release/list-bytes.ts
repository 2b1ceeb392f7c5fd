import { z } from 'zod';
import { resources } from '#contract/resources.ts';
import type { Resource, ResourceName } from '#contract/resources.ts';

/** Makes bytes of their own: one entry that is kept in the pool of short buffers would keep 64 kB of it. */
const encoder = new TextEncoder();
const [open, comma, close] = [encoder.encode('['), encoder.encode(','), encoder.encode(']\n')];

/**
 * Creates the function that makes the file of a list, and remembers the bytes of each entry: of ten thousand, a save
 * changes one. The function throws where the entries are not what the contract says, or the resource is no list.
 */
export function createListBytes(): (name: ResourceName, entries: readonly object[]) => Buffer {
  const known = new Map<z.ZodType, WeakMap<object, Uint8Array>>();
  return (name, entries) => {
    const { schema }: Resource = resources[name];
    if (!(schema instanceof z.ZodArray)) throw new TypeError(`${name} is no list`);
    const element = schema.element as z.ZodType;
    const own = known.get(schema) ?? new WeakMap<object, Uint8Array>();
    known.set(schema, own);
    const parts: Uint8Array[] = [open];
    for (const entry of entries) {
      let bytes = own.get(entry);
      if (!bytes) {
        bytes = encoder.encode(JSON.stringify(element.parse(entry)));
        own.set(entry, bytes);
      }
      if (parts.length > 1) parts.push(comma);
      parts.push(bytes);
    }
    return Buffer.concat([...parts, close]);
  };
}
