import { stringify } from 'yaml';

/** A value that may be what was meant. */
interface Candidate {
  readonly value: unknown;
  /** How it is written in YAML. */
  readonly text: string;
}

/** A longer text is no mistyped value, and would not fit into a message. */
const maxLength = 100;

/**
 * Finds what was probably meant by an invalid value, as a hint such as "write 3.50". Suggests only values that `accepts`
 * allows; two if the value can be read in two ways.
 */
export function findCorrection(
  value: string | number | boolean,
  isQuoted: boolean,
  accepts: (candidate: unknown) => boolean,
): string | undefined {
  const text = String(value).trim();
  if (text === '' || text.length > maxLength || String(value).includes('\n')) return undefined;
  const readings = typeof value === 'string' ? [toNumbers, toBooleans, toDates, toNames, toLists] : [toDates, toLists];
  for (const toCandidates of readings) {
    const accepted = toCandidates(text).filter((candidate) => accepts(candidate.value));
    const texts = new Set(accepted.map((candidate) => candidate.text));
    const isText = toCandidates !== toNumbers && toCandidates !== toBooleans;
    if (texts.size > 0) return `write ${[...texts].join(' or ')}${isQuoted && !isText ? ' without quotes' : ''}`;
  }
  return undefined;
}

/** Units that our fields have anyway: amounts of money, gigabytes and seconds. */
const unit = String.raw`(?:[€$£]|EUR|USD|GBP|CHF|euros?|G(?:i?B)?|s|sec(?:onds?)?)`;
const amount = new RegExp(String.raw`^(?:${unit}\s*)?(-?\d[\d.,]*?)(?:[.,]-)?\s*${unit}?$`, 'i');

/** Reads `3,50`, `3.50 €`, `1.299,00` and `2GB`. `1,299` can be read in two ways. */
function toNumbers(text: string): Candidate[] {
  const withoutSpaces = text.replace(/(?<=\d)[\s'’](?=\d{3}(?!\d))/g, '');
  const [, number] = amount.exec(withoutSpaces) ?? [];
  if (number === undefined) return [];
  const [whole = '', ...groups] = number.split(/[.,]/);
  const decimals = groups.pop();
  const readings =
    decimals === undefined
      ? [whole]
      : [
          ...([...groups, decimals].every(({ length }) => length === 3) ? [[whole, ...groups, decimals].join('')] : []),
          `${[whole, ...groups].join('')}.${decimals}`,
        ];
  return readings.map((reading) => ({ value: Number(reading), text: reading }));
}

function toBooleans(text: string): Candidate[] {
  if (/^(?:true|yes|y|on|ja)$/i.test(text)) return [{ value: true, text: 'true' }];
  if (/^(?:false|no|n|off|nein)$/i.test(text)) return [{ value: false, text: 'false' }];
  return [];
}

const time = String.raw`(?:[T ]+(?<hour>\d{1,2})(?<rest>:\d{2}(?::\d{2})?)(?:\.\d+)? ?(?<zone>Z|[+-]\d{2}:?\d{2})?)?`;
const yearFirst = new RegExp(String.raw`^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})${time}$`, 'i');
const yearLast = new RegExp(String.raw`^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})${time}$`, 'i');

/** Reads `2026-2-3`, `18.11.2026`, `11/18/2026`, and times after a date. `03/04/2026` can be read in two ways. */
function toDates(text: string): Candidate[] {
  const first = yearFirst.exec(text) ?? /^(\d{4})()(\d{2})(\d{2})$/.exec(text);
  const last = yearLast.exec(text);
  const { hour, rest, zone } = (first ?? last)?.groups ?? {};
  const dates: [year: string, month: string, day: string][] = [];
  if (first) dates.push([first[1]!, first[3]!, first[4]!]);
  if (last && last[2] !== '.') dates.push([last[4]!, last[1]!, last[3]!]);
  if (last) dates.push([last[4]!, last[3]!, last[1]!]);
  return dates.flatMap(([year, month, day]) => {
    const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
    // Without its zone a time would be another one.
    const local = hour === undefined || zone ? [] : [`${date}T${hour.padStart(2, '0')}${rest}`];
    return [date, ...local].map((value) => ({ value, text: value }));
  });
}

/** Reads `Linux` as a slug, and `media/Bild 1.png` as the path of a media file. */
function toNames(text: string): Candidate[] {
  const lower = text.toLowerCase();
  const path = lower.replace(/\s+/g, '-');
  const values = text.startsWith('/media/') ? [path] : text.startsWith('media/') ? [`/${text}`, `/${path}`] : [lower];
  return values.map((value) => ({ value, text: value }));
}

function toLists(text: string): Candidate[] {
  const items = text.split(/\s*,\s*/).filter(Boolean);
  const options = { collectionStyle: 'flow', flowCollectionPadding: false, lineWidth: 0 } as const;
  return [{ value: items, text: stringify(items, options).trim() }];
}
