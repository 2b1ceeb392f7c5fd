import { isDeepStrictEqual } from 'node:util';
import { visit } from 'jsonc-parser';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseJsonBody } from '../../server/http/handle.ts';
import { createRandom } from '../bench/corpus.ts';

/** The result of a parser: a value, or nothing for a refused text. */
type Verdict = readonly [value: unknown] | readonly [];

function ourVerdict(text: string): Verdict {
  try {
    return [parseJsonBody(text, { schema: z.unknown(), required: true }, 'json')];
  } catch {
    return [];
  }
}

/** Reads with an event parser; refuses errors and duplicate keys. */
function otherVerdict(text: string): Verdict {
  let isRefused = false;
  let key = '';
  const root: unknown[] = [];
  const open: object[] = [root];
  const add = (value: unknown): void => {
    const parent = open.at(-1)!;
    const name = Array.isArray(parent) ? parent.length : key;
    if (Object.hasOwn(parent, name)) isRefused = true;
    Object.defineProperty(parent, name, { value, enumerable: true, writable: true, configurable: true });
  };
  const begin = (value: object): void => {
    add(value);
    open.push(value);
  };
  const end = (): void => void open.pop();
  visit(
    text,
    {
      onObjectBegin: () => begin({}),
      onObjectEnd: end,
      onArrayBegin: () => begin([]),
      onArrayEnd: end,
      onObjectProperty: (name) => void (key = name),
      onLiteralValue: add,
      onError: () => void (isRefused = true),
    },
    { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false },
  );
  return isRefused ? [] : [root[0]];
}

// No key has a backslash, and no field of the API. V8 13.6 misreads keys after such a one: after JSON.parse('{"\\\\":1}'),
// JSON.parse('{"\\u0041":1}') is {"\\":1}.
const keys = [
  'force',
  'force',
  'command',
  'a',
  '',
  'Force',
  'constructor',
  'é',
  '😀',
  '\ud83d',
  '"',
  '/',
  ':{',
  '\u0000',
];
const strings = [
  '',
  'list',
  '"force":true',
  '{"force":1,',
  '\\',
  '\\"',
  '}',
  '":',
  '\u2028',
  '\u0007',
  '/*',
  '// \r',
  '\udc00',
];
const numbers = '0 -0 1 12.50 1e5 1E+400 -1e-9 0.1 9007199254740993 01 +1 .5 1. 0x1 - 1e'.split(' ');
const words = ['true', 'false', 'null', 'true', 'false', 'True', 'NaN', 'Infinity', 'undefined', 'nul', "'a'"];
const blanks = ['', '', '', '', ' ', '\t', '\n', '\r', '\r\n', '  \r\t'];
const strays = [
  '\v',
  '\f',
  '\u00a0',
  '\u0085',
  '\u2028',
  '\ufeff',
  '//x\r',
  '//x\n',
  '/**/',
  '#\r',
  '\u0000',
  ',',
  '{',
  '"',
  '\\',
  ':',
];

/** Writes random JSON and broken JSON with many duplicate keys. */
function createWriter(random: () => number) {
  const isOdd = (chance: number): boolean => random() < chance;
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const blank = (): string => (isOdd(0.002) ? pick(strays) : pick(blanks));
  const unit = (character: string): string => {
    if (isOdd(0.15)) {
      const code = character.charCodeAt(0).toString(16).padStart(4, '0');
      return `\\u${isOdd(0.5) ? code.toUpperCase() : code}`;
    }
    if (isOdd(0.002)) return pick(['\\x41', '\\u12', '\\', "\\'", '\\u{41}', '\t', '\u0000', '\r']);
    return character === '/' && isOdd(0.5) ? '\\/' : JSON.stringify(character).slice(1, -1);
  };
  const string = (text: string): string =>
    `"${Array.from({ length: text.length }, (_, at) => unit(text[at]!)).join('')}"`;
  const list = (item: () => string): string => {
    const items = Array.from({ length: Math.floor(random() * 4) }, () => blank() + item() + blank());
    return items.join(',') + (isOdd(0.003) ? ',' : '');
  };
  const value = (depth: number): string => {
    const kind = random();
    if (depth < 5 && kind < 0.45 - depth * 0.05) return object(depth + 1);
    if (depth < 5 && kind < 0.6 - depth * 0.05) return `[${list(() => value(depth + 1))}${blank()}]`;
    if (kind < 0.7) return string(pick(strings));
    if (kind < 0.8) return isOdd(0.02) ? pick(numbers) : pick(numbers.slice(0, 9));
    return isOdd(0.01) ? pick(words) : pick(words.slice(0, 5));
  };
  const object = (depth: number): string =>
    `{${list(() => `${string(pick(isOdd(0.02) ? ['__proto__'] : keys))}${blank()}:${blank()}${value(depth)}`)}${blank()}}`;
  /** Removes, inserts or repeats a few characters. */
  const damage = (text: string): string => {
    const at = Math.floor(random() * (text.length + 1));
    const end = at + Math.floor(random() * 4);
    const repeated = text.slice(Math.floor(random() * at), at);
    return text.slice(0, at) + pick(['', pick(strays), pick(blanks), `,${repeated}`, repeated]) + text.slice(end);
  };
  return (): string => {
    const text = `${blank()}${isOdd(0.9) ? object(0) : value(0)}${blank()}`;
    return isOdd(0.15) ? damage(text) : text;
  };
}

// The million: DUPLICATE_KEY_INPUTS=1000000 npx vitest run test/http/duplicate-keys.test.ts
const count = Number(process.env['DUPLICATE_KEY_INPUTS'] ?? 2_000);

test(`${count} bodies are accepted, refused and read as by another strict parser that refuses duplicate keys`, () => {
  const write = createWriter(createRandom(19));
  const seen = { accepted: 0, duplicate: 0, malformed: 0 };
  const disagreements: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const text = write();
    const [ours, other] = [ourVerdict(text), otherVerdict(text)];
    if (!isDeepStrictEqual(ours, other)) disagreements.push(JSON.stringify(text));
    if (other.length > 0) seen.accepted += 1;
    else seen[isJson(text) ? 'duplicate' : 'malformed'] += 1;
  }
  expect({ total: disagreements.length, first: disagreements.slice(0, 5) }).toEqual({ total: 0, first: [] });
  // The inputs must have many of each kind.
  for (const inputs of Object.values(seen)) expect(inputs).toBeGreaterThan(count / 10);
}, 600_000);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
