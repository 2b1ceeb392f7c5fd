import { describe, expect, test } from 'vitest';
import { createProject } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const file = 'catalog/status.yaml';

function problemsOfStatus(yaml: string): Promise<string[]> {
  return problemsOf(createProject({ [file]: yaml }));
}

describe('a monitor is refused if', () => {
  const url = 'url: "https://a.example"';
  const notUrl = '2:21  "monitors[0].url" must be an http or https URL, or a path of this server';
  const host = '2:21  "monitors[0].tcp" must be a host name, with an optional :port';

  test.each([
    [
      'it has both url and tcp',
      `name: A, ${url}, tcp: "a.example:1"`,
      '2:47  "monitors[0].tcp" stands beside "url"; keep one of the two',
    ],
    ['it has neither url nor tcp', 'name: A', '2:5  "monitors[0]" needs url: "https://..." or tcp: "host:port"'],
    ['it has no name', url, '2:5  missing field "monitors[0].name"'],
    ['its name is empty', `name: "", ${url}`, '2:13  "monitors[0].name" must not be empty'],
    ['its URL is not a URL', 'name: A, url: a.example', notUrl],
    ['its URL is a file', 'name: A, url: "file:///etc/passwd"', notUrl],
    ['its URL names only another host', 'name: A, url: "//a.example/"', notUrl],
    ['its URL is left out', 'name: A, url: null', notUrl],
    ['its TCP address has no port', 'name: A, tcp: a.example', '2:21  "monitors[0].tcp" must end in a port'],
    ['its TCP address has a space', 'name: A, tcp: "a b:1"', host],
    ['its TCP port is 0', 'name: A, tcp: "a.example:0"', host],
    ['its TCP port is above 65535', 'name: A, tcp: "a.example:65536"', host],
    [
      'its interval is too short',
      `name: A, ${url}, interval_seconds: 4`,
      '2:60  "monitors[0].interval_seconds" must be at least 5',
    ],
    [
      'its interval is more than a day',
      `name: A, ${url}, interval_seconds: 86401`,
      '2:60  "monitors[0].interval_seconds" must be at most 86400',
    ],
    [
      'its timeout is a fraction',
      `name: A, ${url}, timeout_seconds: 0.5`,
      '2:59  "monitors[0].timeout_seconds" must be a whole number, not a fraction',
    ],
    [
      'its timeout is too long',
      `name: A, ${url}, timeout_seconds: 61`,
      '2:59  "monitors[0].timeout_seconds" must be at most 60',
    ],
    ['its number of failures is 0', `name: A, ${url}, failures: 0`, '2:52  "monitors[0].failures" must be at least 1'],
    [
      'a field is mistyped',
      `name: A, ${url}, failure: 1`,
      '2:42  unknown field "monitors[0].failure" (did you mean "failures"?)',
    ],
  ])('%s', async (_, fields, problem) => {
    expect(await problemsOfStatus(`monitors:\n  - { ${fields} }\nmaintenance: []\n`)).toEqual([`${file}:${problem}`]);
  });

  test('another monitor has the same name', async () => {
    const yaml =
      'monitors:\n  - { name: A, url: "https://a.example" }\n  - { name: A, tcp: "a.example:1" }\nmaintenance: []\n';
    expect(await problemsOfStatus(yaml)).toEqual([`${file}:3:13  two monitors are named "A" (rename one of them)`]);
  });
});

describe('maintenance is refused if', () => {
  const form = 'must be a local time of the form YYYY-MM-DDTHH:MM';
  const order = 'the maintenance must end after it starts';
  const exist = 'start and end must be times that exist';
  const zone = 'is not a time zone (use an IANA name such as Europe/Berlin)';

  test.each([
    [
      'its monitor is mistyped',
      { monitors: '[Webiste]' },
      '5:16  no monitor is named "Webiste" (did you mean "Website"?)',
    ],
    ['one of its monitors is unknown', { monitors: '[Website, Mail]' }, '5:25  no monitor is named "Mail"'],
    ['it has no monitor', { monitors: '[]' }, '5:15  "maintenance[0].monitors" must name at least one monitor'],
    [
      'its monitors are not a list',
      { monitors: 'Website' },
      '5:15  "maintenance[0].monitors" must be a list, not text (write [Website])',
    ],
    ['it ends before it starts', { end: '2026-12-01T21:59' }, `7:10  ${order}`],
    ['it ends when it starts', { end: '2026-12-01T22:00' }, `7:10  ${order}`],
    ['it starts in month 13', { start: '2026-13-01T10:00' }, `6:12  ${exist}`],
    ['it starts at hour 25', { start: '2026-12-01T25:00' }, `6:12  ${exist}`],
    ['it starts on 30 February', { start: '2026-02-30T10:00' }, `6:12  ${exist}`],
    ['it ends on 31 April', { end: '2027-04-31T10:00' }, `7:10  ${exist}`],
    ['it ends on 29 February of a common year', { end: '2027-02-29T10:00' }, `7:10  ${exist}`],
    ['it ends at minute 60', { end: '2026-12-02T10:60' }, `7:10  ${exist}`],
    [
      'its start has a space',
      { start: '2026-12-01 22:00' },
      `6:12  "maintenance[0].start" ${form} (write 2026-12-01T22:00)`,
    ],
    ['its start has a zone', { start: '2026-12-01T22:00Z' }, `6:12  "maintenance[0].start" ${form}`],
    ['its end is a day', { end: '2026-12-02' }, `7:10  "maintenance[0].end" ${form}`],
    ['its timezone is mistyped', { timezone: 'Europe/Berln' }, `8:15  "Europe/Berln" ${zone}`],
    ['its timezone is a city', { timezone: 'Berlin' }, `8:15  "Berlin" ${zone}`],
    ['its timezone is empty', { timezone: '""' }, `8:15  "" ${zone}`],
    ['it has no title', { title: '""' }, '4:12  "maintenance[0].title" must not be empty'],
    ['a field is mistyped', { titel: 'x' }, '9:5  unknown field "maintenance[0].titel" (did you mean "title"?)'],
  ])('%s', async (_, changes, problem) => {
    const fields = {
      title: 'Move',
      monitors: '[Website]',
      start: '2026-12-01T22:00',
      end: '2026-12-02T02:00',
      timezone: 'Europe/Berlin',
      ...changes,
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
    const yaml = `monitors:\n  - { name: Website, url: "https://www.example.com" }\nmaintenance:\n  - ${lines.join('\n    ')}\n`;
    expect(await problemsOfStatus(yaml)).toEqual([`${file}:${problem}`]);
  });
});

describe('a time of a maintenance is a warning if', () => {
  const skipped = (field: string, time: string): string =>
    `"maintenance[0].${field}" does not exist in Europe/Berlin, where the clocks go forward (write ${time})`;

  test.each([
    [
      'it starts in the hour that is skipped',
      { start: '2027-03-28T02:30' },
      [`6:12  warning: ${skipped('start', '2027-03-28T03:30')}`],
    ],
    [
      'it ends in that hour',
      { end: '2027-03-28T02:00:00' },
      [`7:10  warning: ${skipped('end', '2027-03-28T03:00:00')}`],
    ],
    ['', { start: '2027-03-28T03:00' }, []],
    ['', { start: '2027-03-28T01:59' }, []],
    ['', { start: '2027-10-31T02:30' }, []],
    ['', { start: '2027-03-28T02:30', timezone: 'UTC' }, []],
  ])('%s (%o)', async (_, changes, problems) => {
    const fields = { start: '2027-01-01T22:00', end: '2027-12-02T02:00', timezone: 'Europe/Berlin', ...changes };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
    const yaml = `monitors:\n  - { name: Website, url: "https://www.example.com" }\nmaintenance:\n  - title: Move\n    monitors: [Website]\n    ${lines.join('\n    ')}\n`;
    expect(await problemsOfStatus(yaml)).toEqual(problems.map((problem) => `${file}:${problem}`));
  });
});

test.each([
  ['monitors', 'maintenance: []\n'],
  ['maintenance', 'monitors: []\n'],
])('status.yaml is refused if it has no %s', async (field, yaml) => {
  expect(await problemsOfStatus(yaml)).toEqual([`${file}:1:1  missing field "${field}"`]);
});
