import { describe, expect, test } from 'vitest';
import { createProject } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const file = 'catalog/games/broken.yaml';

/** A game with one plan; each field of the plan is on its own line, from line 5 on. */
function game(fields: Readonly<Record<string, string | undefined>> = {}, top = 'soldOutMessage: ""'): string {
  const plan = {
    name: 'Small',
    ram: '0.5',
    storage: '10',
    price: '2.49',
    orderLink: 'https://clients.example.com/1',
    soldOut: 'false',
    ...fields,
  };
  const lines = Object.entries(plan).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return `name: Broken\nsoldOut: false\n${top}\nplans:\n  - ${lines.join('\n    ')}\n`;
}

describe('a plan is refused if', () => {
  const price = '8:12  "plans[0].price"';
  const link = '9:16  "plans[0].orderLink" must be a URL that begins with https://';

  test.each<[string, Record<string, string | undefined>, string]>([
    ['its price has three decimals', { price: '1.999' }, `${price} must have at most two decimals`],
    ['its price has a hidden third decimal', { price: '1.005' }, `${price} must have at most two decimals`],
    ['its price is negative', { price: '-1' }, `${price} must not be negative`],
    ['its price is text', { price: '"2.49"' }, `${price} must be a number, not text (write 2.49 without quotes)`],
    ['its price has a comma', { price: '2,49' }, `${price} must be a number, not text (write 2.49)`],
    ['its price has its currency', { price: '2.49 EUR' }, `${price} must be a number, not text (write 2.49)`],
    ['its price is left out', { price: '' }, `${price} must be a number, not empty`],
    ['its price is .nan', { price: '.nan' }, `${price} must be a number, not NaN`],
    ['its price is .inf', { price: '.inf' }, `${price} must be a number, not Infinity`],
    ['its price is too large for a number', { price: '1e999' }, `${price} must be a number, not Infinity`],
    ['it has no price', { price: undefined }, '5:5  missing field "plans[0].price"'],
    ['its order link is not encrypted', { orderLink: 'http://clients.example.com/1' }, link],
    ['its order link runs code', { orderLink: 'javascript:alert(1)' }, link],
    ['its order link is a path', { orderLink: '/order/1' }, link],
    ['its order link lacks its slashes', { orderLink: '"https:clients.example.com/1"' }, link],
    ['its order link has no host', { orderLink: '"https://"' }, link],
    ['its memory is 0', { ram: '0' }, '6:10  "plans[0].ram" must be greater than 0'],
    ['its memory is negative', { ram: '-0.5' }, '6:10  "plans[0].ram" must be greater than 0'],
    ['its memory has its unit', { ram: '1 GB' }, '6:10  "plans[0].ram" must be a number, not text (write 1)'],
    [
      'its storage is a fraction',
      { storage: '1.5' },
      '7:14  "plans[0].storage" must be a whole number, not a fraction',
    ],
    ['its storage is 0', { storage: '0' }, '7:14  "plans[0].storage" must be greater than 0'],
    ['its storage is too large', { storage: '1e21' }, '7:14  "plans[0].storage" must be a whole number'],
    ['it has no name', { name: '""' }, '5:11  "plans[0].name" must not be empty'],
    ['its name is a number', { name: '5' }, '5:11  "plans[0].name" must be text, not a number (put it in quotes)'],
    ['soldOut is no', { soldOut: 'no' }, '10:14  "plans[0].soldOut" must be true or false, not text (write false)'],
    ['a field is mistyped', { orderlink: 'x' }, '11:5  unknown field "plans[0].orderlink" (did you mean "orderLink"?)'],
    [
      'a field is unknown',
      { bandwidth: '1' },
      '11:5  unknown field "plans[0].bandwidth" (the fields are name, ram, storage, price, orderLink, soldOut)',
    ],
    [
      'a field is __proto__',
      { __proto: '1', ['__proto__']: '{ price: 0 }' },
      '12:5  the key "__proto__" is not allowed',
    ],
    ['a field is constructor', { constructor: 'x' }, '11:5  the key "constructor" is not allowed'],
    ['a price is written twice', { price: '2\n    price: 3' }, '9:5  "price" is given twice (keep one of the two)'],
  ])('%s', async (_, fields, problem) => {
    expect(await problemsOf(createProject({ [file]: game(fields) }))).toEqual([`${file}:${problem}`]);
  });
});

describe('a game is refused if', () => {
  const all = ['name', 'soldOut', 'soldOutMessage', 'plans'];

  test.each([
    ['it is empty', '', ['1:1  the YAML must be a mapping of fields, not empty']],
    ['it has only a comment', '# later\n', ['1:1  the YAML must be a mapping of fields, not empty']],
    ['it is a list', '- a\n', ['1:1  the YAML must be a mapping of fields, not a list']],
    ['all fields are missing', '{}\n', all.map((field) => `1:1  missing field "${field}"`)],
    [
      'its order is a fraction',
      game({}, 'soldOutMessage: ""\norder: 1.5'),
      ['4:8  "order" must be a whole number, not a fraction'],
    ],
    [
      'its order is a word',
      game({}, 'soldOutMessage: ""\norder: first'),
      ['4:8  "order" must be a number, not text (write a number without a unit, with a dot before decimals)'],
    ],
    ['its message is left out', game({}, 'soldOutMessage:'), ['3:16  "soldOutMessage" must be text, not empty']],
    [
      'its plans are a mapping',
      'name: A\nsoldOut: false\nsoldOutMessage: ""\nplans: {}\n',
      ['4:8  "plans" must be a list, not a mapping of fields'],
    ],
    [
      'a plan is a name',
      'name: A\nsoldOut: false\nsoldOutMessage: ""\nplans: [Small]\n',
      ['4:9  "plans[0]" must be a mapping of fields, not text'],
    ],
    ['a bracket is never closed', 'plans: [\n', ['1:8  this [ is not closed (end it with ])']],
    ['it has two documents', `${game()}---\n${game()}`, ['11:1  there is more than one YAML document']],
    [
      'it is indented with tabs',
      'name: A\nplans:\n\t- name: B\n',
      ['3:1  this line is indented with a tab (indent with spaces, here and below)'],
    ],
  ])('%s', async (_, text, problems) => {
    expect(await problemsOf(createProject({ [file]: text }))).toEqual(problems.map((problem) => `${file}:${problem}`));
  });
});

test('two plans of one name are a warning', async () => {
  const plan = (name: string): string =>
    `  - { name: ${name}, ram: 1, storage: 1, price: 1, orderLink: "https://a.example/", soldOut: false }\n`;
  const yaml = `name: A\nsoldOut: false\nsoldOutMessage: ""\nplans:\n${plan('Small')}${plan('Large')}${plan('Small')}`;
  expect(await problemsOf(createProject({ [file]: yaml }))).toEqual([
    `${file}:7:13  warning: two plans are named "Small" (rename one of them)`,
  ]);
});

describe('the key of a game', () => {
  const slug = 'the file name must contain only lower-case letters, digits and hyphens';
  const letter = 'the file name must contain at least one letter';

  test.each([
    ['7', letter],
    ['7-2', letter],
    ['-', letter],
    ['Rust', `${slug} (rename it to "rust.yaml")`],
    ['garrys mod', `${slug} (rename it to "garrys-mod.yaml")`],
    ['garrys_mod', `${slug} (rename it to "garrys-mod.yaml")`],
    ['7.days', `${slug} (rename it to "7-days.yaml")`],
    ['__proto__', `${slug} (rename it to "proto.yaml")`],
    ['constructor', 'the file name must not be constructor'],
    ['prototype', 'the file name must not be prototype'],
  ])('is refused if it is "%s"', async (key, problem) => {
    const path = `catalog/games/${key}.yaml`;
    expect(await problemsOf(createProject({ [path]: game() }))).toEqual([`${path}:1:1  ${problem}`]);
  });
});

describe('a file is not part of the catalog if it is', () => {
  const all = 'the catalog is made of domains.yaml, status.yaml, services/<key>.yaml, games/<key>.yaml';

  test.each([
    ['catalog/domain.yaml', 'did you mean "domains.yaml"?'],
    ['catalog/stauts.yaml', 'did you mean "status.yaml"?'],
    ['catalog/services/README.md', all],
    ['catalog/services/web/small.yaml', all],
    ['catalog/vps/small.yaml', all],
    ['catalog/prices.csv', all],
  ])('%s', async (path, hint) => {
    expect(await problemsOf(createProject({ [path]: 'x' }))).toEqual([
      `${path}:1:1  this file is not part of the catalog (${hint})`,
    ]);
  });

  test('different from another only in case', async () => {
    expect(await problemsOf(createProject({ 'catalog/Status.yaml': 'x' }))).toEqual([
      'catalog/Status.yaml:1:1  this file is not part of the catalog (did you mean "status.yaml"?)',
      'catalog/status.yaml:1:1  the path differs from catalog/Status.yaml only in case or Unicode form ' +
        '(rename one of the two)',
    ]);
  });
});

test('a catalog without plans is refused', async () => {
  const root = createProject({ 'catalog/services/web.yaml': undefined, 'catalog/games/minecraft.yaml': undefined });
  expect(await problemsOf(root)).toEqual([
    'catalog:1:1  the catalog contains no plans (add a plan to services/<key>.yaml or games/<key>.yaml)',
  ]);
});
