import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const folder = resolve(import.meta.dirname, '../../examples/systemd');

/** A unit of examples/systemd: values by setting, in order. */
export type Unit = ReadonlyMap<string, readonly string[]>;

/** Reads a file of examples/systemd. */
export function readUnitFile(name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}

/** Parses a unit like systemd, with specifiers replaced. */
export function parseUnit(text: string, specifiers: Readonly<Record<string, string>> = {}): Unit {
  const unit = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const replaced = value!.replaceAll(/%(\w)/g, (whole, letter: string) => specifiers[letter] ?? whole);
    unit.set(name, [...(unit.get(name) ?? []), replaced]);
  }
  return unit;
}

/** Parses a file of variables, which systemd and a shell read alike. */
export function parseVariables(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]));
}
