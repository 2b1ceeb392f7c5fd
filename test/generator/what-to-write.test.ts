import { describe, expect, test } from 'vitest';
import { article, createProject } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const file = 'content/blog/news/broken.md';
const game = 'catalog/games/broken.yaml';
const status = 'catalog/status.yaml';

/** The problems of a blog article with these fields, without the file name. The first added field is on line 7. */
async function problemsOfFields(fields: Readonly<Record<string, string | undefined>>): Promise<string[]> {
  const problems = await problemsOf(createProject({ [file]: article(fields, 'Text.\n') }));
  return problems.map((problem) => problem.replace(`${file}:`, ''));
}

/** A game with one plan: its ram is on line 6, its storage on line 7, its price on line 8. */
async function problemsOfPlan(fields: Readonly<Record<string, string>>): Promise<string[]> {
  const link = 'https://clients.example.com/1';
  const plan = { name: 'Small', ram: '1', storage: '10', price: '2.49', orderLink: link, soldOut: 'false', ...fields };
  const lines = Object.entries(plan).map(([name, value]) => `${name}: ${value}`);
  const yaml = `name: Broken\nsoldOut: false\nsoldOutMessage: ""\nplans:\n  - ${lines.join('\n    ')}\n`;
  const problems = await problemsOf(createProject({ [game]: yaml }));
  return problems.map((problem) => problem.replace(`${game}:`, ''));
}

async function problemsOfMaintenance(fields: Readonly<Record<string, string>>): Promise<string[]> {
  const planned = {
    title: 'Move',
    monitors: '[Website]',
    start: '2026-12-01T22:00',
    end: '2026-12-03T02:00',
    timezone: 'Europe/Berlin',
    ...fields,
  };
  const lines = Object.entries(planned).map(([name, value]) => `${name}: ${value}`);
  const yaml = `monitors:\n  - { name: Website, url: "https://www.example.com" }\nmaintenance:\n  - ${lines.join('\n    ')}\n`;
  const problems = await problemsOf(createProject({ [status]: yaml }));
  return problems.map((problem) => problem.replace(`${status}:`, ''));
}

describe('the message about a number says what to write', () => {
  const unit = 'write a number without a unit, with a dot before decimals';

  test.each([
    ['3,50', 'write 3.50'],
    ['3.50 €', 'write 3.50'],
    ['3,50 €', 'write 3.50'],
    ['€3.50', 'write 3.50'],
    ['€ 3.50', 'write 3.50'],
    ['3.50 EUR', 'write 3.50'],
    ['EUR 3.50', 'write 3.50'],
    ['3,- €', 'write 3'],
    ['"3.50"', 'write 3.50 without quotes'],
    ["'3'", 'write 3 without quotes'],
    ['"3,50"', 'write 3.50 without quotes'],
    ['1.299,00 €', 'write 1299.00'],
    ['"1,299.00"', 'write 1299.00 without quotes'],
    ['1 299,00 €', 'write 1299.00'],
    ['1,299', 'write 1299'],
    ['1,5555', unit],
    ['3 apples', unit],
    ['from 3.50', unit],
    ['free', unit],
  ])('for the price %s', async (price, hint) => {
    expect(await problemsOfPlan({ price })).toEqual([`8:12  "plans[0].price" must be a number, not text (${hint})`]);
  });

  test.each([
    ['2GB', 'write 2'],
    ['2 GB', 'write 2'],
    ['0,5 GB', 'write 0.5'],
    ['2 GiB', 'write 2'],
    ['"2"', 'write 2 without quotes'],
    ['1,024', 'write 1024 or 1.024'],
    ['512 MB', 'write it in GB, as a number without the unit'],
    ['1TB', 'write it in GB, as a number without the unit'],
    ['a lot', unit],
  ])('for the memory %s', async (ram, hint) => {
    expect(await problemsOfPlan({ ram })).toEqual([`6:10  "plans[0].ram" must be a number, not text (${hint})`]);
  });

  test.each([
    ['20GB', 'write 20'],
    ['2,5 GB', unit],
  ])('for the storage %s', async (storage, hint) => {
    expect(await problemsOfPlan({ storage })).toEqual([
      `7:14  "plans[0].storage" must be a number, not text (${hint})`,
    ]);
  });

  test('for a number of seconds with its unit', async () => {
    const yaml = 'monitors:\n  - { name: A, url: "https://a.example", interval_seconds: 60s }\nmaintenance: []\n';
    expect(await problemsOf(createProject({ [status]: yaml }))).toEqual([
      `${status}:2:60  "monitors[0].interval_seconds" must be a number, not text (write 60)`,
    ]);
  });
});

describe('the message about a date says what to write', () => {
  const form = '4:7  "date" must be a calendar date of the form YYYY-MM-DD';

  test.each([
    ['18.11.2026', 'write 2026-11-18'],
    ['3.2.2026', 'write 2026-02-03'],
    ['2026-2-3', 'write 2026-02-03'],
    ['2026/11/18', 'write 2026-11-18'],
    ['2026.11.18', 'write 2026-11-18'],
    ['18-11-2026', 'write 2026-11-18'],
    ['11/18/2026', 'write 2026-11-18'],
    ['18/11/2026', 'write 2026-11-18'],
    ['03/04/2026', 'write 2026-03-04 or 2026-04-03'],
    ['04/04/2026', 'write 2026-04-04'],
    ['2026-11-18T10:00', 'write 2026-11-18'],
    ['2026-11-18 10:00:00 +01:00', 'write 2026-11-18'],
    ['2026-11-18T10:00:00.000Z', 'write 2026-11-18'],
  ])('%s', async (date, hint) => {
    expect(await problemsOfFields({ date })).toEqual([`${form} (${hint})`]);
  });

  test.each(['tomorrow', '2026-02-30', '31.02.2026', '18. November 2026', '2026-11', '18.11.', '1/2/3'])(
    '%s: only the form, as the date is not certain',
    async (date) => {
      expect(await problemsOfFields({ date })).toEqual([form]);
    },
  );

  test('if YAML reads it as a number', async () => {
    expect(await problemsOfFields({ date: '20261118' })).toEqual([
      '4:7  "date" must be text, not a number (write 2026-11-18)',
    ]);
    expect(await problemsOfFields({ date: '2026' })).toEqual(['4:7  "date" must be text, not a number']);
  });

  test.each([
    ['2026-12-01 22:00', 'write 2026-12-01T22:00'],
    ['2026-12-1T9:30', 'write 2026-12-01T09:30'],
    ['01.12.2026 22:00', 'write 2026-12-01T22:00'],
  ])('for the start of a maintenance: %s', async (start, hint) => {
    expect(await problemsOfMaintenance({ start })).toEqual([
      `6:12  "maintenance[0].start" must be a local time of the form YYYY-MM-DDTHH:MM (${hint})`,
    ]);
  });
});

describe('the message about another value says what to write', () => {
  test.each([
    ['/blog/old', '[/blog/old]'],
    ['/x', '[/x]'],
    ['/blog/a, /blog/b', '[/blog/a, /blog/b]'],
    ['"/blog/a: b"', '["/blog/a: b"]'],
  ])('for the aliases %s', async (aliases, list) => {
    expect(await problemsOfFields({ aliases })).toEqual([`7:10  "aliases" must be a list, not text (write ${list})`]);
  });

  test('for the monitors of a maintenance', async () => {
    expect(await problemsOfMaintenance({ monitors: 'Website' })).toEqual([
      '5:15  "maintenance[0].monitors" must be a list, not text (write [Website])',
    ]);
  });

  test.each([
    ['yes', 'write true'],
    ['"true"', 'write true without quotes'],
    ['ja', 'write true'],
    ['No', 'write false'],
    ['"off"', 'write false without quotes'],
  ])('for a draft that is %s', async (draft, hint) => {
    expect(await problemsOfFields({ draft })).toEqual([`7:8  "draft" must be true or false, not text (${hint})`]);
  });

  test.each([
    ['media/covers/cover.svg', 'write /media/covers/cover.svg'],
    ['/media/covers/Bild 1.png', 'write /media/covers/bild-1.png'],
  ])('for the cover %s', async (cover, hint) => {
    expect(await problemsOfFields({ cover })).toEqual([
      `6:8  "cover" must be a path that begins with /media/, of letters, digits, dots, hyphens and underscores (${hint})`,
    ]);
  });
});

describe('a mistyped field is one problem, not also a missing one', () => {
  test('in front matter', async () => {
    expect(await problemsOfFields({ title: undefined, titel: 'A' })).toEqual([
      '6:1  unknown field "titel" (did you mean "title"?)',
    ]);
  });

  test('in a list of the catalog', async () => {
    const yaml = 'monitors:\n  - { nmae: A, url: "https://a.example" }\nmaintenance: []\n';
    expect(await problemsOf(createProject({ [status]: yaml }))).toEqual([
      `${status}:2:7  unknown field "monitors[0].nmae" (did you mean "name"?)`,
    ]);
  });

  test('but another missing field is reported beside it', async () => {
    expect(await problemsOfFields({ title: undefined, author: undefined, titel: 'A' })).toEqual([
      '2:1  missing field "author"',
      '5:1  unknown field "titel" (did you mean "title"?)',
    ]);
  });
});
