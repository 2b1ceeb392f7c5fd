import type { z } from 'zod';
import { CatalogKey } from '#contract/primitives.ts';
import type { PlanCatalogResponse } from '#contract/plans.ts';
import type { DomainCatalog } from '#contract/domains.ts';
import { sources } from '#contract/resources.ts';
import type { StatusCatalog } from '#contract/status.ts';
import { compareText } from './diagnostics.ts';
import type { Diagnostics } from './diagnostics.ts';
import { placeOf, readText } from './load.ts';
import type { SourceFile, SourceFolder } from './load.ts';
import { suggest } from '../common/suggest.ts';
import { checkYaml } from './yaml.ts';
import type { Checked } from './yaml.ts';

/** The checked catalog; a host that sells no domains or watches nothing has no file for it. */
export interface Catalog {
  readonly plans: PlanCatalogResponse;
  readonly domains: DomainCatalog;
  readonly status: StatusCatalog;
}

/** Reads the files of catalog/. Reports every problem; what is broken is missing in the result. */
export function readCatalog({ display, files }: SourceFolder, diagnostics: Diagnostics): Catalog {
  const plans = { services: [] as Entry[], games: [] as Entry[] };
  let domains: DomainCatalog = { tlds: {} };
  let status: StatusCatalog = { monitors: [], maintenance: [] };
  for (const file of files) {
    const [, kind, key] = /^(services|games)\/([^/]+)\.yaml$/.exec(file.path) ?? [];
    if (kind === 'services' || kind === 'games') {
      const checked = parse(file, sources.plans, diagnostics);
      const { success, error } = CatalogKey.safeParse(key);
      if (!success) diagnostics.error(placeOf(file), `the file name ${error.issues[0]!.message}`);
      else if (checked) plans[kind].push({ key: key!, ...checked.value });
    } else if (file.path === 'domains.yaml') {
      const checked = parse(file, sources.domains, diagnostics);
      if (checked) checkDomains(checked, diagnostics);
      domains = checked?.value ?? domains;
    } else if (file.path === 'status.yaml') {
      const checked = parse(file, sources.status, diagnostics);
      if (checked) checkStatus(checked, diagnostics);
      status = checked?.value ?? status;
    } else if (file.path !== 'README.md') {
      const known = ['domains.yaml', 'status.yaml', 'services/<key>.yaml', 'games/<key>.yaml'];
      const hint = suggest(file.path, known) ?? `the catalog is made of ${known.join(', ')}`;
      diagnostics.error(placeOf(file), 'this file is not part of the catalog', hint);
    }
  }
  if (files.length > 0 && !files.some(({ path }) => /^(?:services|games)\//.test(path))) {
    diagnostics.error(
      { file: display, line: 1, column: 1 },
      'the catalog holds no plans',
      'add services/<key>.yaml or games/<key>.yaml',
    );
  }
  return { plans: { services: toMap(plans.services), games: toMap(plans.games) }, domains, status };
}

type Entry = PlanCatalogResponse['services'][string] & { key: string; order?: number | undefined };

function toMap(entries: Entry[]): PlanCatalogResponse['services'] {
  const sorted = entries.toSorted((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity) || compareText(a.key, b.key));
  return Object.fromEntries(
    sorted.map(({ key, name, soldOut, soldOutMessage, plans }) => [key, { name, soldOut, soldOutMessage, plans }]),
  );
}

function parse<Schema extends z.ZodType>(file: SourceFile, source: Schema, diagnostics: Diagnostics) {
  const text = readText(file, diagnostics);
  return text === undefined ? undefined : checkYaml(text, source, file.display, diagnostics);
}

function checkDomains({ value, place }: Checked<DomainCatalog>, diagnostics: Diagnostics): void {
  if (value.order_url !== undefined && !value.order_url.includes('{domain}')) {
    diagnostics.error(place(['order_url']), '"order_url" must hold {domain}, which stands for the name searched for');
  }
  for (const [tld, { order_url: url }] of Object.entries(value.tlds)) {
    if (url?.includes('{')) {
      diagnostics.error(
        place(['tlds', tld, 'order_url']),
        '"order_url" of a TLD must not hold {domain}',
        'remove that part',
      );
    }
  }
}

function checkStatus({ value, place }: Checked<StatusCatalog>, diagnostics: Diagnostics): void {
  const names = value.monitors.map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) < index) {
      diagnostics.error(place(['monitors', index, 'name']), `two monitors are named "${name}"`, 'rename one of them');
    }
  }
  for (const [index, { monitors, start, end, timezone }] of value.maintenance.entries()) {
    for (const [at, name] of monitors.entries()) {
      if (names.includes(name)) continue;
      diagnostics.error(
        place(['maintenance', index, 'monitors', at]),
        `no monitor is named "${name}"`,
        suggest(name, names),
      );
    }
    const impossible = Object.entries({ start, end }).filter(([, time]) => !isTime(time));
    for (const [field] of impossible) {
      diagnostics.error(place(['maintenance', index, field]), 'start and end must be times that exist');
    }
    if (impossible.length === 0 && end <= start) {
      diagnostics.error(place(['maintenance', index, 'end']), 'the maintenance must end after it starts');
    }
    if (!isTimeZone(timezone)) {
      diagnostics.error(
        place(['maintenance', index, 'timezone']),
        `"${timezone}" is not a time zone`,
        'use an IANA name such as Europe/Berlin',
      );
    }
  }
}

/** Whether a calendar has that local time; Date.parse takes 30 February for 2 March. */
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
