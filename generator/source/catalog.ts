import { basename, extname } from 'node:path';
import type { z } from 'zod';
import { CatalogKey } from '#contract/primitives.ts';
import type { PlanCatalogResponse, PlanFile } from '#contract/plans.ts';
import type { DomainCatalog } from '#contract/domains.ts';
import { sources } from '#contract/endpoints.ts';
import type { StatusCatalog } from '#contract/status.ts';
import { compareText } from './diagnostics.ts';
import type { Diagnostics } from './diagnostics.ts';
import { displayIn, placeOf } from './load.ts';
import type { SourceFile, SourceFolder } from './load.ts';
import { renameTo, toSlug } from './slug.ts';
import { toShownTime } from '../common/local-time.ts';
import { formatPath } from '../common/schema-issues.ts';
import type { Path } from '../common/schema-issues.ts';
import { suggest } from '../common/suggest.ts';
import { readYaml } from './yaml.ts';

/** The checked catalog. domains.yaml and status.yaml are optional. */
export interface Catalog {
  readonly plans: PlanCatalogResponse;
  readonly domains: DomainCatalog;
  readonly status: StatusCatalog;
}

type Entry = PlanFile & { key: string };

/** Reads the files of catalog/. Reports every problem; the result omits invalid entries. */
export function readCatalog(folder: SourceFolder, diagnostics: Diagnostics): Catalog {
  const plans = { services: [] as Entry[], games: [] as Entry[] };
  let domains: DomainCatalog = { tlds: {} };
  let status: StatusCatalog = { monitors: [], maintenance: [] };
  for (const file of folder.files) {
    const [, kind, key = ''] = /^(services|games)\/([^/]+)\.yaml$/.exec(file.path) ?? [];
    if (kind === 'services' || kind === 'games') {
      const entry = parse(file, sources.plans, diagnostics, (one, _, warn) => checkNames('plans', one.plans, warn));
      const { success, error } = CatalogKey.safeParse(key);
      if (success && entry) plans[kind].push({ key, ...entry });
      if (success) continue;
      const slug = toSlug(key);
      const hint = CatalogKey.safeParse(slug).success ? renameTo(slug, '.yaml') : undefined;
      diagnostics.error(placeOf(file), `the file name ${error.issues[0]!.message}`, hint);
    } else if (file.path === 'domains.yaml') {
      domains = parse(file, sources.domains, diagnostics, checkDomains) ?? domains;
    } else if (file.path === 'status.yaml') {
      status = parse(file, sources.status, diagnostics, checkStatus) ?? status;
    } else if (
      /^(?:(?:services|games)\/[^/]+|domains|status)\.ya?ml$/i.test(file.path) &&
      !file.path.endsWith('.yaml')
    ) {
      const hint = renameTo(toSlug(basename(file.path, extname(file.path))), '.yaml');
      diagnostics.error(placeOf(file), 'the files of the catalog end in .yaml', hint);
    } else if (file.path !== 'README.md') {
      const allowed = ['domains.yaml', 'status.yaml', 'services/<key>.yaml', 'games/<key>.yaml'];
      const hint = suggest(file.path, allowed) ?? `the catalog is made of ${allowed.join(', ')}`;
      diagnostics.error(placeOf(file), 'this file is not part of the catalog', hint);
    }
  }
  const hasPlans = [...plans.services, ...plans.games].some((entry) => entry.plans.length > 0);
  // A problem that is already reported may be the reason.
  const isMissing = folder.files.length === 0 && diagnostics.failed(folder.display);
  if (!hasPlans && !isMissing && !['services', 'games'].some((name) => diagnostics.failed(displayIn(folder, name)))) {
    const hint = 'add a plan to services/<key>.yaml or games/<key>.yaml';
    diagnostics.error(placeOf(folder), 'the catalog contains no plans', hint);
  }
  return { plans: { services: toMap(plans.services), games: toMap(plans.games) }, domains, status };
}

function toMap(entries: Entry[]): PlanCatalogResponse['services'] {
  const sorted = entries.toSorted((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity) || compareText(a.key, b.key));
  return Object.fromEntries(sorted.map(({ key, order: _order, ...catalog }) => [key, catalog]));
}

/** Reports a problem with the value at a path of keys. */
type Report = (path: Path, message: string, hint?: string) => void;

/** Parses a file and validates it with its schema, then with the checks that a schema cannot express. */
function parse<Schema extends z.ZodType>(
  file: SourceFile,
  schema: Schema,
  diagnostics: Diagnostics,
  check: (value: z.infer<Schema>, report: Report, warn: Report) => void,
): z.infer<Schema> | undefined {
  const { value, place } = readYaml(file, schema, diagnostics) ?? {};
  const report: Report = (path, ...problem) => diagnostics.error(place!(path), ...problem);
  const warn: Report = (path, ...problem) => diagnostics.warning(place!(path), ...problem);
  if (value !== undefined) check(value, report, warn);
  return value;
}

/** Reports each name that stands in a list before. */
function checkNames(list: string, items: readonly { readonly name: string }[], report: Report): void {
  const names = items.map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    const message = `two ${list} are named "${name}"`;
    if (names.indexOf(name) < index) report([list, index, 'name'], message, 'rename one of them');
  }
}

function checkDomains({ order_url: url, tlds }: DomainCatalog, report: Report): void {
  if (url !== undefined && !url.includes('{domain}')) {
    report(['order_url'], '"order_url" must contain {domain}, which is replaced by the domain name');
  }
  for (const [tld, { order_url: own }] of Object.entries(tlds)) {
    if (!own?.includes('{')) continue;
    report(['tlds', tld, 'order_url'], '"order_url" of a TLD must not contain {domain}', 'remove that part');
  }
}

function checkStatus({ monitors, maintenance }: StatusCatalog, report: Report, warn: Report): void {
  checkNames('monitors', monitors, report);
  const names = monitors.map(({ name }) => name);
  for (const [index, { monitors: watched, start, end, timezone }] of maintenance.entries()) {
    const path = ['maintenance', index];
    for (const [at, name] of watched.entries()) {
      if (names.includes(name)) continue;
      report([...path, 'monitors', at], `no monitor is named "${name}"`, suggest(name, names));
    }
    const times = Object.entries({ start, end });
    const invalid = times.filter(([, time]) => !isTime(time));
    for (const [field] of invalid) report([...path, field], 'start and end must be times that exist');
    if (invalid.length === 0 && end <= start) report([...path, 'end'], 'the maintenance must end after it starts');
    if (!isTimeZone(timezone)) {
      report([...path, 'timezone'], `"${timezone}" is not a time zone`, 'use an IANA name such as Europe/Berlin');
      continue;
    }
    for (const [field, time] of invalid.length > 0 ? [] : times) {
      const shown = toShownTime(time, timezone);
      const message = `"${formatPath([...path, field])}" does not exist in ${timezone}, where the clocks go forward`;
      if (shown !== time) warn([...path, field], message, `write ${shown}`);
    }
  }
}

/** Whether a local time exists in the calendar; Date.parse accepts 30 February as 2 March. */
function isTime(local: string): boolean {
  const time = Date.parse(`${local}Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(local);
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
