import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { describeStream } from '#contract/console-stream.ts';
import { toTable } from './table.ts';

const page = resolve(import.meta.dirname, '../../docs/customers.md');
const begin =
  '<!-- These tables are made from generator/contract/console-stream.ts by `npx vitest run test/docs -u`. -->\n';
const end = '<!-- The end of the tables. -->\n';

const { events, closeCodes } = describeStream();
type Row = (typeof events)[number];

const toArguments = ({ args }: Row): string =>
  args.map(({ name, optional }) => `\`${name}\`${optional ? ', optional' : ''}`).join('; ') || 'none';

/** A sentence for each argument that says more than its name. */
const toMeaning = ({ description, args }: Row): string =>
  [description, ...args.filter(({ values, fields }) => values.length + fields.length === 0).map(toSentence)].join(' ');

const toSentence = ({ name, description }: Row['args'][number]): string =>
  `\`${name}\`: ${description.charAt(0).toLowerCase()}${description.slice(1)}`;

function renderStream(): string {
  const from = (side: Row['from']): Row[] => events.filter((row) => row.from === side);
  const client = from('client').map((row) => [
    `\`${row.event}\``,
    toArguments(row),
    row.scope === null ? 'none' : `\`${row.scope}\``,
    toMeaning(row),
  ]);
  const service = from('service').map((row) => [`\`${row.event}\``, toArguments(row), toMeaning(row)]);
  const lists = events.flatMap(({ event, args }) =>
    args.flatMap(({ name, values, fields }) => [
      ...(values.length > 0
        ? [
            `The \`${name}\` of \`${event}\`:\n`,
            toNames(
              'value',
              values.map(({ value, meaning }) => [value, meaning]),
            ),
          ]
        : []),
      ...(fields.length > 0
        ? [
            `The fields of \`${event}\`, a JSON text:\n`,
            toNames(
              'field',
              fields.map((field) => [field.name, field.description]),
            ),
          ]
        : []),
    ]),
  );
  const examples = events.map(({ event, example }) => `${JSON.stringify({ event, args: example })}\n`).join('');
  return [
    'What you send:\n',
    toTable(['event', 'arguments', 'scope', 'meaning'], ...client),
    'What the service sends:\n',
    toTable(['event', 'arguments', 'meaning'], ...service),
    ...lists,
    'An example of each:\n',
    `\`\`\`jsonl\n${examples}\`\`\`\n`,
    'How a stream ends:\n',
    toTable(
      ['close code', 'meaning', 'what you do'],
      ...closeCodes.map(({ code, meaning, client: then }) => [String(code), meaning, then]),
    ),
  ].join('\n');
}

const toNames = (head: string, rows: readonly (readonly [string, string])[]): string =>
  toTable([head, 'meaning'], ...rows.map(([name, meaning]) => [`\`${name}\``, meaning]));

test('docs/customers.md has every event and every close code of console streams', async () => {
  const text = readFileSync(page, 'utf8');
  const [before = '', rest = ''] = text.split(begin);
  const [, after = ''] = rest.split(end);
  expect(text.split(begin)).toHaveLength(2);
  expect(rest.split(end)).toHaveLength(2);
  await expect(`${before}${begin}\n${renderStream()}\n${end}${after}`).toMatchFileSnapshot(page);
});
