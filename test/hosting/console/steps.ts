import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One line for a step: `state; field=value; effect argument ...`, or `-` for none. */
export function describeStep<State extends { readonly at: string }>(
  state: State,
  [next, ...effects]: readonly [State, ...{ readonly do: string }[]],
): string {
  const fields = Object.entries(next).filter(([name, value]) => name !== 'at' && state[name as keyof State] !== value);
  const changes = fields.map(([name, value]) => `${name}=${toText(value)}`);
  const done = effects.map(({ do: name, ...rest }) => [name, ...Object.values(rest).map(toText)].join(' '));
  return [...(next.at === state.at ? [] : [next.at]), ...changes, ...done].join('; ') || '-';
}

/** The value, the name of an object, or the words of a message. */
function toText(value: unknown): string {
  if (typeof value === 'string' && value.startsWith('{')) {
    const { event, args } = JSON.parse(value) as { event: string; args: string[] };
    return [event, ...args].join(': ');
  }
  // A command with its reference.
  if (typeof value === 'object' && value !== null && 'text' in value) {
    const { text, reference } = value as { text: string; reference: string | undefined };
    return reference === undefined ? text : `${text} ${reference}`;
  }
  return typeof value === 'object' && value !== null && 'name' in value ? String(value.name) : String(value);
}

/** Whether a test exists, given as `file: title in the source`. */
export function findTest(name: string): boolean {
  const [file, ...title] = name.split(': ');
  return readFileSync(join(import.meta.dirname, `${file}.test.ts`), 'utf8').includes(title.join(': '));
}
