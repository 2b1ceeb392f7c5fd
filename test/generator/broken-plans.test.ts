import { describe, expect, test } from 'vitest';
import { createProject } from '../helpers/project.ts';
import { problemsOf, testProblems, toFields } from './problems.ts';
import type { Problems } from './problems.ts';

const file = 'catalog/games/broken-#.yaml';

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

describe('a plan is refused', () => {
  const price = '8:12  "plans[0].price"';
  const link = '9:16  "plans[0].orderLink" must be a URL that begins with https://';

  testProblems(file, (fields) => game(toFields(fields)), {
    'price: 1.999': `${price} must have at most two decimals`,
    'price: 1.005': `${price} must have at most two decimals`,
    'price: -1': `${price} must not be negative`,
    'price: ': `${price} must be a number, not empty`,
    'price: .nan': `${price} must be a number, not NaN`,
    'price: .inf': `${price} must be a number, not Infinity`,
    'price: 1e999': `${price} must be a number, not Infinity`,
    price: '5:5  missing field "plans[0].price"',
    'orderLink: http://clients.example.com/1': link,
    'orderLink: javascript:alert(1)': link,
    'orderLink: /order/1': link,
    'orderLink: "https:clients.example.com/1"': link,
    'orderLink: "https://"': link,
    'ram: 0': '6:10  "plans[0].ram" must be greater than 0',
    'ram: -0.5': '6:10  "plans[0].ram" must be greater than 0',
    'storage: 1.5': '7:14  "plans[0].storage" must be a whole number, not a fraction',
    'storage: 0': '7:14  "plans[0].storage" must be greater than 0',
    'storage: 1e21': '7:14  "plans[0].storage" must be a whole number',
    'name: ""': '5:11  "plans[0].name" must not be empty',
    'name: 5': '5:11  "plans[0].name" must be text, not a number (put it in quotes)',
    'soldOut: no': '10:14  "plans[0].soldOut" must be true or false, not text (write false)',
    'orderlink: x': '11:5  unknown field "plans[0].orderlink" (did you mean "orderLink"?)',
    'bandwidth: 1':
      '11:5  unknown field "plans[0].bandwidth" (the fields are name, ram, storage, price, orderLink, soldOut)',
    '__proto: 1; __proto__: { price: 0 }': '12:5  the key "__proto__" is not allowed',
    'constructor: x': '11:5  the key "constructor" is not allowed',
    'price: 2\n    price: 3': '9:5  "price" is given twice (keep one of the two)',
  });
});

describe('the message about a number says what to write', () => {
  const unit = 'write a number without a unit, with a dot before decimals';
  const testHints = (name: string, place: string, hints: Readonly<Record<string, string>>): void => {
    const toProblem = (hint: string) => `${place}  "plans[0].${name}" must be a number, not text (${hint})`;
    const rows = Object.entries(hints).map(([value, hint]) => [`${name}: ${value}`, toProblem(hint)]);
    testProblems(file, (fields) => game(toFields(fields)), Object.fromEntries(rows) as Problems);
  };
  testHints('price', '8:12', {
    '3,50': 'write 3.50',
    '3.50 €': 'write 3.50',
    '3,50 €': 'write 3.50',
    '€3.50': 'write 3.50',
    '€ 3.50': 'write 3.50',
    '3.50 EUR': 'write 3.50',
    'EUR 3.50': 'write 3.50',
    '3,- €': 'write 3',
    '"3.50"': 'write 3.50 without quotes',
    "'3'": 'write 3 without quotes',
    '"3,50"': 'write 3.50 without quotes',
    '1.299,00 €': 'write 1299.00',
    '"1,299.00"': 'write 1299.00 without quotes',
    '1 299,00 €': 'write 1299.00',
    '1,299': 'write 1299',
    '1,5555': unit,
    '3 apples': unit,
    'from 3.50': unit,
    free: unit,
  });
  testHints('ram', '6:10', {
    '2GB': 'write 2',
    '2 GB': 'write 2',
    '0,5 GB': 'write 0.5',
    '2 GiB': 'write 2',
    '"2"': 'write 2 without quotes',
    '1,024': 'write 1024 or 1.024',
    '512 MB': 'write it in GB, as a number without the unit',
    '1TB': 'write it in GB, as a number without the unit',
    'a lot': unit,
  });
  testHints('storage', '7:14', {
    '20GB': 'write 20',
    '2,5 GB': unit,
  });
});

describe('a game is refused', () => {
  const all = ['name', 'soldOut', 'soldOutMessage', 'plans'];

  testProblems(file, (yaml) => yaml, {
    '': '1:1  the YAML must be a mapping of fields, not empty',
    '# later\n': '1:1  the YAML must be a mapping of fields, not empty',
    '- a\n': '1:1  the YAML must be a mapping of fields, not a list',
    '{}\n': all.map((field) => `1:1  missing field "${field}"`),
    [game({}, 'soldOutMessage: ""\norder: 1.5')]: '4:8  "order" must be a whole number, not a fraction',
    [game({}, 'soldOutMessage: ""\norder: first')]:
      '4:8  "order" must be a number, not text (write a number without a unit, with a dot before decimals)',
    [game({}, 'soldOutMessage:')]: '3:16  "soldOutMessage" must be text, not empty',
    'name: A\nsoldOut: false\nsoldOutMessage: ""\nplans: {}\n': '4:8  "plans" must be a list, not a mapping of fields',
    'name: A\nsoldOut: false\nsoldOutMessage: ""\nplans: [Small]\n':
      '4:9  "plans[0]" must be a mapping of fields, not text',
    'plans: [\n': '1:8  this [ is not closed (end it with ])',
    [`${game()}---\n${game()}`]: '11:1  there is more than one YAML document',
    'name: A\nplans:\n\t- name: B\n': '3:1  this line is indented with a tab (indent with spaces, here and below)',
  });
});

test('two plans of one name are a warning', async () => {
  const plan = (name: string): string =>
    `  - { name: ${name}, ram: 1, storage: 1, price: 1, orderLink: "https://a.example/", soldOut: false }\n`;
  const yaml = `name: A\nsoldOut: false\nsoldOutMessage: ""\nplans:\n${plan('Small')}${plan('Large')}${plan('Small')}`;
  expect(await problemsOf(createProject({ 'catalog/games/broken.yaml': yaml }))).toEqual([
    `catalog/games/broken.yaml:7:13  warning: two plans are named "Small" (rename one of them)`,
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
