import { describe, expect, test } from 'vitest';
import { toInstant } from '#common/local-time.ts';
import { toWindows } from '../../server/status/platform.ts';

test.each([
  ['UTC', '2026-12-01T22:00', '2026-12-01T22:00:00Z'],
  ['UTC', '2026-12-01T22:00:30', '2026-12-01T22:00:30Z'],
  ['Europe/Berlin', '2026-12-01T22:00', '2026-12-01T21:00:00Z'],
  ['Europe/Berlin', '2026-07-01T22:00', '2026-07-01T20:00:00Z'],
  ['Europe/Berlin', '2027-01-01T00:30', '2026-12-31T23:30:00Z'],
  ['Asia/Kathmandu', '2026-07-01T12:00', '2026-07-01T06:15:00Z'],
  ['America/New_York', '2026-07-01T22:00', '2026-07-02T02:00:00Z'],
  ['Pacific/Kiritimati', '2026-07-01T12:00', '2026-06-30T22:00:00Z'],
  ['Pacific/Pago_Pago', '2026-07-01T12:00', '2026-07-01T23:00:00Z'],
  ['Australia/Lord_Howe', '2026-12-01T12:00', '2026-12-01T01:00:00Z'],
])('in %s, %s is %s', (timezone, local, instant) => {
  expect(new Date(toInstant(local, timezone)).toISOString()).toBe(new Date(instant).toISOString());
});

describe('around a clock change', () => {
  test.each([
    ['the last minute before the change to summer time', '2026-03-29T01:59', '2026-03-29T00:59:00Z'],
    ['the skipped hour, with the offset before it', '2026-03-29T02:00', '2026-03-29T01:00:00Z'],
    ['the middle of the skipped hour', '2026-03-29T02:30', '2026-03-29T01:30:00Z'],
    ['the first minute after the change to summer time', '2026-03-29T03:00', '2026-03-29T01:00:00Z'],
    ['the last minute before the repeated hour', '2026-10-25T01:59', '2026-10-24T23:59:00Z'],
    ['the repeated hour, which means its first pass', '2026-10-25T02:30', '2026-10-25T00:30:00Z'],
    ['the first minute after the repeated hour', '2026-10-25T03:00', '2026-10-25T02:00:00Z'],
    ['the day before', '2026-10-24T12:00', '2026-10-24T10:00:00Z'],
    ['the day after', '2026-10-26T12:00', '2026-10-26T11:00:00Z'],
  ])('%s', (_, local, instant) => {
    expect(toInstant(local, 'Europe/Berlin')).toBe(Date.parse(instant));
  });

  test('Lord Howe Island skips and repeats half an hour', () => {
    expect(toInstant('2026-10-04T02:15', 'Australia/Lord_Howe')).toBe(Date.parse('2026-10-03T15:45:00Z'));
    expect(toInstant('2026-04-05T01:45', 'Australia/Lord_Howe')).toBe(Date.parse('2026-04-04T14:45:00Z'));
  });

  const lengthOf = (start: string, end: string): number => {
    const [window] = toWindows([{ title: 'Move', monitors: ['A'], start, end, timezone: 'Europe/Berlin' }]);
    return (window!.end - window!.start) / 60_000;
  };

  test('maintenance lasts as long as the elapsed time between its start and end', () => {
    expect(lengthOf('2026-03-28T22:00', '2026-03-29T04:00')).toBe(5 * 60);
    expect(lengthOf('2026-10-24T22:00', '2026-10-25T04:00')).toBe(7 * 60);
    expect(lengthOf('2026-10-25T02:15', '2026-10-25T02:45')).toBe(30);
  });

  test('maintenance in a skipped hour is kept', () => {
    expect(lengthOf('2026-03-29T02:00', '2026-03-29T03:00')).toBe(60);
    expect(lengthOf('2026-03-29T02:15', '2026-03-29T02:45')).toBe(30);
    expect(lengthOf('2026-03-29T02:30', '2026-03-29T03:15')).toBe(45);
  });
});
