import { z } from 'zod';
import { BlogFrontMatter, blogFiles } from '#contract/blog.ts';
import { Aliases, Category, Removed, mediaFiles } from '#contract/content.ts';
import { docsFiles } from '#contract/docs.ts';
import { DomainCatalog } from '#contract/domains.ts';
import type { StaticFile } from '#contract/endpoint.ts';
import { KnowledgeBaseFrontMatter, knowledgeBaseFiles } from '#contract/knowledge-base.ts';
import { PlanFile, planFiles } from '#contract/plans.ts';
import { searchFiles } from '#contract/search.ts';
import { Authors, siteFiles } from '#contract/site.ts';
import { StatusCatalog, statusFiles } from '#contract/status.ts';

/** All kinds of files in a release. */
export const staticFiles = {
  ...statusFiles,
  ...docsFiles,
  ...blogFiles,
  ...knowledgeBaseFiles,
  ...searchFiles,
  ...mediaFiles,
  ...siteFiles,
  ...planFiles,
  aliases: { file: 'private/aliases.json', schema: Aliases },
  domains: { file: 'private/domains.json', schema: DomainCatalog },
  sourceSchema: { file: 'public/schemas/{source}.json', schema: z.record(z.string(), z.unknown()) },
} as const satisfies Record<string, StaticFile>;

/** The name of a kind of file: the operationId of its endpoint, if it has one. */
export type StaticFileName = keyof typeof staticFiles;

/** The name of a kind of file that has an endpoint. */
export type ServedFileName = {
  [Name in StaticFileName]: (typeof staticFiles)[Name] extends { path: string } ? Name : never;
}[StaticFileName];

/** The schemas of the source files in content/ and catalog/; releases contain them as JSON Schemas for editors. */
export const sources = {
  blog: BlogFrontMatter,
  knowledgebase: KnowledgeBaseFrontMatter,
  category: Category,
  removed: Removed,
  authors: Authors,
  plans: PlanFile,
  domains: DomainCatalog,
  status: StatusCatalog,
} as const satisfies Record<string, z.ZodType>;

/** The path of a file in a release. */
export function fileOf(name: StaticFileName, params: Readonly<Record<string, string>> = {}): string {
  return fillTemplate(staticFiles[name].file, params);
}

/** The request target of a kind of file, with its names; undefined if no client gets it. */
export function targetOf(name: StaticFileName): string | undefined {
  const { target, path }: StaticFile & { readonly path?: string } = staticFiles[name];
  return target ?? path;
}

/** Renders a JSON file of a release. Throws if the value does not match its schema. */
export function toJsonText(name: StaticFileName, value: unknown): string {
  const { schema }: StaticFile = staticFiles[name];
  return `${JSON.stringify(schema?.parse(value))}\n`;
}

/** Fills in the names of a template of {@link staticFiles}. */
export function fillTemplate(template: string, params: Readonly<Record<string, string>>): string {
  let parts = split.get(template);
  if (!parts) split.set(template, (parts = template.split(/\{(\w+)\*?\}/)));
  return parts.reduce((filled, part, index) => filled + (index % 2 === 0 ? part : (params[part] ?? '')), '');
}

/** Cached templates, split into texts and names: a build fills one template for each article. */
const split = new Map<string, readonly string[]>();

/** Finds the kind of a file in a release and the request target that answers with it, if any. */
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
