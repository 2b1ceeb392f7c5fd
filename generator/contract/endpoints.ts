import { z } from 'zod';
import { articleEntries, articleSources } from '#contract/articles.ts';
import { docsEntries } from '#contract/docs.ts';
import { DomainCatalog, domainEntries } from '#contract/domains.ts';
import { toEndpoint } from '#contract/endpoint.ts';
import type { Endpoint, FileEndpoint, StaticFile } from '#contract/endpoint.ts';
import { hostingEntries } from '#contract/hosting.ts';
import { keyEntries } from '#contract/keys.ts';
import { PlanFile, planEntries } from '#contract/plans.ts';
import { StatusCatalog, statusEntries } from '#contract/status.ts';

/** All operations, and all kinds of files in a release; a {@link FileEndpoint} is both. */
const entries = {
  ...statusEntries,
  ...articleEntries,
  ...planEntries,
  ...docsEntries,
  ...domainEntries,
  ...hostingEntries,
  ...keyEntries,
  sourceSchema: { file: 'public/schemas/{source}.json', schema: z.record(z.string(), z.unknown()) },
} as const satisfies Record<string, Endpoint | FileEndpoint | StaticFile>;
type Entries = typeof entries;

type Having<Key extends string> = {
  readonly [Name in keyof Entries as Entries[Name] extends Record<Key, string> ? Name : never]: Entries[Name];
};
type Operations = Having<'path'>;

const having = <Key extends 'path' | 'file'>(key: Key): Having<Key> =>
  Object.fromEntries(Object.entries(entries).filter(([, entry]) => key in entry)) as Having<Key>;

/** All operations of the API: the source of routes, request validation and the OpenAPI document. */
export const endpoints = Object.fromEntries(
  Object.entries(having('path')).map(([name, entry]) => [name, 'file' in entry ? toEndpoint(entry) : entry]),
) as { readonly [Name in keyof Operations]: Operations[Name] extends Endpoint ? Operations[Name] : Endpoint };

export type EndpointName = keyof typeof endpoints;

export const staticFiles = having('file');

/** The name of a kind of file, and the operationId of its endpoint. */
export type StaticFileName = keyof typeof staticFiles;

export type ServedFileName = StaticFileName & EndpointName;

/** The schemas of source files in content/ and catalog/; each release has them as JSON Schemas for editors. */
export const sources = {
  ...articleSources,
  plans: PlanFile,
  domains: DomainCatalog,
  status: StatusCatalog,
} as const satisfies Record<string, z.ZodType>;

/** Returns the path of a file in a release. */
export function fileOf(name: StaticFileName, params: Readonly<Record<string, string>> = {}): string {
  return fillTemplate(staticFiles[name].file, params);
}

/** Returns the request target template of a kind of file; undefined if the file is not served. */
export function targetOf(name: StaticFileName): string | undefined {
  const { target, path }: StaticFile & { readonly path?: string } = staticFiles[name];
  return target ?? path;
}

/** Renders a JSON file of a release. Throws if the value does not match the schema. */
export function toJsonText(name: StaticFileName, value: unknown): string {
  const { schema }: StaticFile = staticFiles[name];
  return `${JSON.stringify(schema?.parse(value))}\n`;
}

/** Fills in a template of {@link staticFiles}. */
export function fillTemplate(template: string, params: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\*?\}/g, (_, name: string) => params[name] ?? '');
}

/** Finds the kind of a file in a release, and the request target that serves it. */
export function matchFile(file: string): { name: StaticFileName; target: string | undefined } | undefined {
  for (const { name, pattern, target } of patterns) {
    const match = pattern.exec(file);
    if (match) return { name, target: target && fillTemplate(target, match.groups ?? {}) };
  }
  return undefined;
}

const patterns = (Object.keys(staticFiles) as StaticFileName[]).map((name) => ({
  name,
  target: targetOf(name),
  pattern: new RegExp(
    `^${staticFiles[name].file
      .replaceAll('.', '\\.')
      .replace(/\{(\w+)\*\}/g, '(?<$1>.+)')
      .replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`,
  ),
}));
