import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const page = readFileSync(join(resolve(import.meta.dirname, '../../..'), 'docs/operating.md'), 'utf8');

/** What a reader puts in place of the values of the first lines of a list. */
export type Values = Readonly<Record<string, string>>;

/** A list of commands of the documentation. */
export interface Commands {
  readonly scene: string;
  readonly text: string;
}

/** Reads the lists of commands of the chapter "The way back", in order. Those before the first scene have an empty name. */
export function readScenes(): Commands[] {
  const [, chapter = ''] = page.split('\n## The way back\n');
  const [text = ''] = chapter.split('\n## ');
  return text.split(/^### /m).flatMap((part, index) => {
    const scene = index === 0 ? '' : part.slice(0, part.indexOf('\n'));
    return [...part.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => ({ scene, text: match[1]! }));
  });
}

/** Puts a reader's values in place of those of the first lines, up to the first empty one. All must be given, and no others. */
export function fillIn(commands: string, values: Values): string {
  const [first = '', ...rest] = /^[A-Z_]+=/.test(commands) ? commands.split(/(?<=\n)\n/) : ['', commands];
  const names = [...first.matchAll(/^([A-Z_]+)=.*$/gm)].map(([, name]) => name!);
  if (names.join() !== Object.keys(values).join()) {
    throw new Error(`the first lines name ${names.join()}, the test ${Object.keys(values).join()}`);
  }
  return first.replace(/^([A-Z_]+)=.*$/gm, (_, name: string) => `${name}='${values[name]}'`) + rest.join('\n');
}
