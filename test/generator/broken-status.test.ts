import { describe, expect, test } from 'vitest';
import { createProject } from '../helpers/project.ts';
import { problemsOf, testProblems, toFields } from './problems.ts';

const file = 'catalog/status.yaml';

/** A status.yaml with a maintenance; each of its fields is on its own line, from line 4 on. */
function toMaintenance(fields: string): string {
  const all = {
    title: 'Move',
    monitors: '[Website]',
    start: '2026-12-01T22:00',
    end: '2026-12-02T02:00',
    timezone: 'Europe/Berlin',
    ...toFields(fields),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `monitors:\n  - { name: Website, url: "https://www.example.com" }\nmaintenance:\n  - ${lines.join('\n    ')}\n`;
}

describe('a monitor is refused', () => {
  const url = 'url: "https://a.example"';
  const notUrl = '2:21  "monitors[0].url" must be an http or https URL, or a path of this server';
  const host = '2:21  "monitors[0].tcp" must be a host name, with an optional :port';

  const toYaml = (fields: string): string => `monitors:\n  - { ${fields} }\nmaintenance: []\n`;
  testProblems(file, toYaml, {
    'nmae: A, url: "https://a.example"': '2:7  unknown field "monitors[0].nmae" (did you mean "name"?)',
    [`name: A, ${url}, interval_seconds: 60s`]:
      '2:60  "monitors[0].interval_seconds" must be a number, not text (write 60)',
    [`name: A, ${url}, tcp: "a.example:1"`]: '2:47  "monitors[0].tcp" stands beside "url"; keep one of the two',
    'name: A': '2:5  "monitors[0]" needs url: "https://..." or tcp: "host:port"',
    [url]: '2:5  missing field "monitors[0].name"',
    [`name: "", ${url}`]: '2:13  "monitors[0].name" must not be empty',
    'name: A, url: a.example': notUrl,
    'name: A, url: "file:///etc/passwd"': notUrl,
    'name: A, url: "//a.example/"': notUrl,
    'name: A, url: null': notUrl,
    'name: A, tcp: a.example': '2:21  "monitors[0].tcp" must end in a port',
    'name: A, tcp: "a b:1"': host,
    'name: A, tcp: "a.example:0"': host,
    'name: A, tcp: "a.example:65536"': host,
    [`name: A, ${url}, interval_seconds: 4`]: '2:60  "monitors[0].interval_seconds" must be at least 5',
    [`name: A, ${url}, interval_seconds: 86401`]: '2:60  "monitors[0].interval_seconds" must be at most 86400',
    [`name: A, ${url}, timeout_seconds: 0.5`]:
      '2:59  "monitors[0].timeout_seconds" must be a whole number, not a fraction',
    [`name: A, ${url}, timeout_seconds: 61`]: '2:59  "monitors[0].timeout_seconds" must be at most 60',
    [`name: A, ${url}, failures: 0`]: '2:52  "monitors[0].failures" must be at least 1',
    [`name: A, ${url}, failure: 1`]: '2:42  unknown field "monitors[0].failure" (did you mean "failures"?)',
  });

  test('another monitor has the same name', async () => {
    const yaml =
      'monitors:\n  - { name: A, url: "https://a.example" }\n  - { name: A, tcp: "a.example:1" }\nmaintenance: []\n';
    expect(await problemsOf(createProject({ [file]: yaml }))).toEqual([
      `${file}:3:13  two monitors are named "A" (rename one of them)`,
    ]);
  });
});

describe('maintenance is refused', () => {
  const form = 'must be a local time of the form YYYY-MM-DDTHH:MM';
  const order = 'the maintenance must end after it starts';
  const exist = 'start and end must be times that exist';
  const zone = 'is not a time zone (use an IANA name such as Europe/Berlin)';

  testProblems(file, toMaintenance, {
    'monitors: [Webiste]': '5:16  no monitor is named "Webiste" (did you mean "Website"?)',
    'monitors: [Website, Mail]': '5:25  no monitor is named "Mail"',
    'monitors: []': '5:15  "maintenance[0].monitors" must name at least one monitor',
    'monitors: Website': '5:15  "maintenance[0].monitors" must be a list, not text (write [Website])',
    'end: 2026-12-01T21:59': `7:10  ${order}`,
    'end: 2026-12-01T22:00': `7:10  ${order}`,
    'start: 2026-13-01T10:00': `6:12  ${exist}`,
    'start: 2026-12-01T25:00': `6:12  ${exist}`,
    'start: 2026-02-30T10:00': `6:12  ${exist}`,
    'end: 2027-04-31T10:00': `7:10  ${exist}`,
    'end: 2027-02-29T10:00': `7:10  ${exist}`,
    'end: 2026-12-02T10:60': `7:10  ${exist}`,
    'start: 2026-12-01 22:00': `6:12  "maintenance[0].start" ${form} (write 2026-12-01T22:00)`,
    'start: 2026-12-01T22:00Z': `6:12  "maintenance[0].start" ${form}`,
    'end: 2026-12-02': `7:10  "maintenance[0].end" ${form}`,
    'timezone: Europe/Berln': `8:15  "Europe/Berln" ${zone}`,
    'timezone: Berlin': `8:15  "Berlin" ${zone}`,
    'timezone: ""': `8:15  "" ${zone}`,
    'title: ""': '4:12  "maintenance[0].title" must not be empty',
    'titel: x': '9:5  unknown field "maintenance[0].titel" (did you mean "title"?)',
  });
});

describe('the message about the start of a maintenance says what to write', () => {
  const start = '6:12  "maintenance[0].start" must be a local time of the form YYYY-MM-DDTHH:MM';
  const toStart = (fields: string): string => toMaintenance(`end: 2026-12-03T02:00; ${fields}`);
  testProblems(file, toStart, {
    'start: 2026-12-1T9:30': `${start} (write 2026-12-01T09:30)`,
    'start: 01.12.2026 22:00': `${start} (write 2026-12-01T22:00)`,
  });
});

describe('a time of a maintenance that does not exist is a warning', () => {
  const skipped = (field: string, time: string): string =>
    `"maintenance[0].${field}" does not exist in Europe/Berlin, where the clocks go forward (write ${time})`;

  const toYear = (fields: string): string => toMaintenance(`start: 2027-01-01T22:00; end: 2027-12-02T02:00; ${fields}`);
  testProblems(file, toYear, {
    'start: 2027-03-28T02:30': `6:12  warning: ${skipped('start', '2027-03-28T03:30')}`,
    'end: 2027-03-28T02:00:00': `7:10  warning: ${skipped('end', '2027-03-28T03:00:00')}`,
    'start: 2027-03-28T03:00': [],
    'start: 2027-03-28T01:59': [],
    'start: 2027-10-31T02:30': [],
    'start: 2027-03-28T02:30; timezone: UTC': [],
  });
});

describe('status.yaml is refused without', () => {
  testProblems(file, (field) => `${field}: []\n`, {
    monitors: '1:1  missing field "maintenance"',
    maintenance: '1:1  missing field "monitors"',
  });
});
