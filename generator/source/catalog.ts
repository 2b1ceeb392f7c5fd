import { CatalogKey } from '#contract/primitives.ts';
import type { PlanCatalogResponse, PlanFile } from '#contract/plans.ts';
import type { DomainCatalog } from '#contract/domains.ts';
import { sources } from '#contract/endpoints.ts';
import type { StatusCatalog } from '#contract/status.ts';
import { compareText } from './diagnostics.ts';
import type { Diagnostics, Report } from './diagnostics.ts';
import { displayIn } from './load.ts';
import type { SourceFolder } from './load.ts';
import { renameTo, toSlug } from './slug.ts';
import { hasDefaultSource } from '../common/domain-sources.ts';
import { toInstant } from '../common/local-time.ts';
import { suggest } from '../common/suggest.ts';
import { readYaml } from './yaml.ts';
import type { SourceYaml } from './yaml.ts';

/** The validated catalog; domains.yaml and status.yaml are optional. */
export type Catalog = ReturnType<typeof readCatalog>;

type PlanEntry = PlanFile & { key: string };

/** Reads and validates catalog/. The result omits invalid entries. */
export function readCatalog(folder: SourceFolder, diagnostics: Diagnostics) {
  const plans = { services: [] as PlanEntry[], games: [] as PlanEntry[] };
  let domains: DomainCatalog = { tlds: {} };
  let status: StatusCatalog = { monitors: [], maintenance: [] };
  for (const file of folder.files) {
    const [, kind, key = ''] = /^(services|games)\/([^/]+)\.yaml$/.exec(file.path) ?? [];
    if (kind === 'services' || kind === 'games') {
      const entry = readYaml(file, sources.plans, diagnostics);
      if (entry) checkNames('plans', entry.value.plans, entry.place, diagnostics.warning);
      const { success, error } = CatalogKey.safeParse(key);
      if (success && entry) plans[kind].push({ key, ...entry.value });
      if (success) continue;
      const slug = toSlug(key);
      const hint = CatalogKey.safeParse(slug).success ? renameTo(slug, '.yaml') : undefined;
      diagnostics.error(file, `the file name ${error.issues[0]!.message}`, hint);
    } else if (file.path === 'domains.yaml') {
      const read = readYaml(file, sources.domains, diagnostics);
      if (read) checkDomains(read, diagnostics);
      domains = read?.value ?? domains;
    } else if (file.path === 'status.yaml') {
      const read = readYaml(file, sources.status, diagnostics);
      if (read) checkStatus(read, diagnostics);
      status = read?.value ?? status;
    } else if (file.path !== 'README.md') {
      const allowed = ['domains.yaml', 'status.yaml', 'services/<key>.yaml', 'games/<key>.yaml'];
      const hint = suggest(file.path, allowed) ?? `the catalog consists of ${allowed.join(', ')}`;
      diagnostics.error(file, 'this file is not part of the catalog', hint);
    }
  }
  const hasPlans = [...plans.services, ...plans.games].some((entry) => entry.plans.length > 0);
  // A problem that was reported already may be the reason.
  const isMissing = folder.files.length === 0 && diagnostics.failed(folder.display);
  if (!hasPlans && !isMissing && !['services', 'games'].some((name) => diagnostics.failed(displayIn(folder, name)))) {
    const hint = 'add a plan to services/<key>.yaml or games/<key>.yaml';
    diagnostics.error(folder, 'the catalog contains no plans', hint);
  }
  return { plans: { services: toMap(plans.services), games: toMap(plans.games) }, domains, status };
}

function toMap(entries: PlanEntry[]): PlanCatalogResponse['services'] {
  const sorted = entries.toSorted((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity) || compareText(a.key, b.key));
  return Object.fromEntries(sorted.map(({ key, order: _order, ...catalog }) => [key, catalog]));
}

function checkNames(
  list: string,
  items: readonly { readonly name: string }[],
  place: SourceYaml<unknown>['place'],
  report: Report,
): void {
  const names = items.map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    const message = `two ${list} are named "${name}"`;
    if (names.indexOf(name) < index) report(place([list, index, 'name']), message, 'rename one of them');
  }
}

function checkDomains({ value: { order_url: url, tlds }, place }: SourceYaml<DomainCatalog>, to: Diagnostics): void {
  const { error, warning } = to;
  if (url !== undefined && !url.includes('{domain}')) {
    error(place(['order_url']), '"order_url" must contain {domain}, the placeholder for the domain name');
  }
  for (const [tld, { active, prices, lookup, order_url: own }] of Object.entries(tlds)) {
    if (own?.includes('{')) {
      error(place(['tlds', tld, 'order_url']), '"order_url" of a TLD must not contain {domain}', 'remove {domain}');
    }
    for (const source of lookup === undefined || lookup === 'none' ? [] : [lookup].flat()) {
      if (source.confirm === undefined || source.confirm.endsWith(tld)) continue;
      error(place(['tlds', tld, 'lookup']), `"confirm" must be a domain under ${tld}`);
    }
    const isOnSale = active !== false && prices?.['EUR']?.['1'] !== undefined;
    const usesDefault =
      lookup === undefined || (typeof lookup === 'object' && Object.keys(lookup).join() === 'confirm');
    if (!isOnSale || !usesDefault || hasDefaultSource(tld.slice(1))) continue;
    const message = `${tld} is on sale, but no server says which names are free: a search gets 502`;
    warning(place(['tlds', tld]), message, 'add `lookup` with a server, or `lookup: none` to accept this');
  }
}

function checkStatus({ value, place }: SourceYaml<StatusCatalog>, { error }: Diagnostics): void {
  checkNames('monitors', value.monitors, place, error);
  const names = value.monitors.map(({ name }) => name);
  for (const [index, { monitors, start, end, timezone }] of value.maintenance.entries()) {
    const path = ['maintenance', index];
    for (const [at, name] of monitors.entries()) {
      if (names.includes(name)) continue;
      error(place([...path, 'monitors', at]), `no monitor is named "${name}"`, suggest(name, names));
    }
    if (toInstant(end, timezone) > toInstant(start, timezone)) continue;
    error(place([...path, 'end']), 'the maintenance must end after it starts');
  }
}
