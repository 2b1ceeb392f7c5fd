import { z } from 'zod';
import { Scope, ServerName, scopes } from '#contract/api-keys.ts';
import { CommandError } from '#common/command-line.ts';
import { didYouMean, redactKeys, toPrintable } from './text.ts';

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const Day = z.iso.date();
const Time = z.iso.datetime({ offset: true, local: true });

/** Parses a server such as `game:survival` or `vps:42`; throws a {@link CommandError}. */
export function parseServer(text: string): ServerName {
  const result = ServerName.safeParse(text);
  if (result.success) return result.data;
  const id = text.slice(text.indexOf(':') + 1);
  const near = [`game:${id}`, `vps:${id}`].filter((name) => ServerName.safeParse(name).success);
  throw new CommandError(`malformed server ${text}: it must be game:<id> or vps:<id>${didYouMean(text, near)}`);
}

/** Parses a scope; throws a {@link CommandError} that names the nearest. */
export function parseScope(text: string): Scope {
  const result = Scope.safeParse(text);
  if (result.success) return result.data;
  // By edit distance, "write" is nearer to "read" than to "read_write", which it means.
  const near = text.includes('write') ? scopes.filter((scope) => scope.endsWith('_write')) : scopes;
  throw new CommandError(`unknown scope ${text}${didYouMean(text, near)}; the scopes are ${scopes.join(', ')}`);
}

/** Parses an id or a whole key, since of a leaked key only the text may be at hand. The secret is not printed. */
export function parseKeyId(text: string): string {
  const [, id] = /^(?:hk_)?([A-Za-z0-9]{12})(?:_[A-Za-z0-9]*)?$/.exec(text) ?? [];
  if (id === undefined) throw new CommandError('ID must be the 12 letters and digits that keys list shows');
  return id;
}

/** Parses a day (its start in UTC) or an ISO time (in UTC if it names no zone) to milliseconds. */
export function parseTime(text: string): number | undefined {
  if (Day.safeParse(text).success) return Date.parse(`${text}T00:00:00Z`);
  if (!Time.safeParse(text).success) return undefined;
  const time = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(time) ? undefined : time;
}

/** Parses a duration such as 90s, 15m, 24h or 7d to milliseconds; `0` needs no unit. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (digits === undefined || unit === undefined) return text === '0' ? 0 : undefined;
  return Number(digits) * unitMs[unit]!;
}

/** Parses a time like {@link parseTime}, or a duration before now, to milliseconds. */
export function parsePastTime(text: string): number | undefined {
  const ago = parseDuration(text);
  return ago === undefined ? parseTime(text) : Date.now() - ago;
}

/** Creates the parser of a repeatable option: its values in order, without duplicates. */
export function repeatable<Value>(parse: (text: string) => Value): (text: string, previous?: Value[]) => Value[] {
  return (text, previous = []) => [...new Set([...previous, parse(text)])];
}

/** Checks a one-line text of limited length, for instance a label or a path; throws a {@link CommandError}. */
export function parseText(text: string, option: string, maximum: number, minimum = 1): string {
  if (redactKeys(text) !== text) throw new CommandError(`${option} must not hold an API key, as it is kept and listed`);
  if (text.length >= minimum && text.length <= maximum && toPrintable(text) === text) return text;
  throw new CommandError(`${option} must have ${minimum} to ${maximum} characters, and no control characters`);
}
