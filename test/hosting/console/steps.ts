import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a step changes and does, as one line: `state; field=value; effect argument ...`, or `-` for nothing. */
export function describeStep<State extends { readonly at: string }>(
  state: State,
  [next, ...effects]: readonly [State, ...{ readonly do: string }[]],
): string {
  const fields = Object.entries(next).filter(([name, value]) => name !== 'at' && state[name as keyof State] !== value);
  const changes = fields.map(([name, value]) => `${name}=${toText(value)}`);
  const done = effects.map(({ do: name, ...rest }) => [name, ...Object.values(rest).map(toText)].join(' '));
  return [...(next.at === state.at ? [] : [next.at]), ...changes, ...done].join('; ') || '-';
}

/** The value itself; of an object its name, of a message its words. */
function toText(value: unknown): string {
  if (typeof value === 'string' && value.startsWith('{')) {
    const { event, args } = JSON.parse(value) as { event: string; args: string[] };
    return [event, ...args].join(': ');
  }
  return typeof value === 'object' && value !== null && 'name' in value ? String(value.name) : String(value);
}

/** Whether there is a test, named by its file and its title in the source. */
export function findTest(name: string): boolean {
  const [file, ...title] = name.split(': ');
  return readFileSync(join(import.meta.dirname, `${file}.test.ts`), 'utf8').includes(title.join(': '));
}
