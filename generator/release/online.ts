import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { FetchError } from 'ofetch';
import { z } from 'zod';
import { Aliases } from '#contract/articles.ts';
import type { Manifest } from '#contract/release.ts';
import { fileOf, staticFiles } from '#contract/endpoints.ts';
import { CommandError } from '../common/command-line.ts';
import { collect } from '../common/streams.ts';

/** The published articles of a service or a release. */
export interface Online {
  /** The articles, by path. */
  readonly articles: ReadonlyMap<string, List[number]>;
  /** Former paths of articles. */
  readonly aliases: Aliases;
  /** The numbers of entries; some are unknown for a service. */
  readonly counts: Partial<Manifest['counts']>;
}

/** The two lists of a site with 10,000 articles have 5 MB. */
const maxListMiB = 64;
const timeoutMs = 20_000;

// Other fields are ignored: the service may have another version.
const List = z.array(z.object({ path: z.string(), title: z.string(), description: z.string().default('') }));
type List = z.infer<typeof List>;

/**
 * Reads the published articles of `against`, a service or an output folder, else of the current release below `out`;
 * undefined without a release there. Throws a {@link CommandError} if `against` cannot be read.
 */
export async function readOnline(out: string, against: string | undefined): Promise<Online | undefined> {
  if (against === undefined) return readCurrentRelease(out);
  if (!/^https?:\/\//i.test(against)) {
    const online = await readCurrentRelease(against);
    if (!online) throw new CommandError(`--against: there is no release in ${against}`);
    return online;
  }
  const base = against.replace(/\/+$/, '');
  const [blog, guides, aliases] = await Promise.all([
    fetchJson(base + staticFiles.listBlogArticles.path, List, 'a list of articles'),
    fetchJson(base + staticFiles.listKnowledgeBaseArticles.path, List, 'a list of articles'),
    // Older versions of the service lack this map.
    fetchJson(base + staticFiles.listRedirects.path, Aliases, 'a map of paths', {}),
  ]);
  const counts = { blogArticles: blog.length, knowledgeBaseArticles: guides.length };
  return { articles: toMap([blog, guides]), aliases, counts };
}

/** Reads the articles of the current release; undefined if the release is missing or damaged. */
async function readCurrentRelease(out: string): Promise<Online | undefined> {
  try {
    // Resolved once: the link may switch to another release meanwhile.
    const directory = await realpath(join(out, 'current'));
    const readText = (file: string): Promise<string> => readFile(join(directory, file), 'utf8');
    const read = async (file: string): Promise<unknown> => JSON.parse(await readText(file));
    // The first line of a manifest is complete except for the list of files.
    const [head] = (await readText('manifest.json')).split('\n', 1);
    const { counts } = JSON.parse(`${head}}}`) as Manifest;
    // Not validated: this generator wrote the files, and validating takes as long as parsing.
    const lists = [await read(fileOf('listBlogArticles')), await read(fileOf('listKnowledgeBaseArticles'))] as List[];
    return { articles: toMap(lists), aliases: (await read(fileOf('listRedirects'))) as Aliases, counts };
  } catch {
    return undefined;
  }
}

function toMap(lists: readonly List[]): Online['articles'] {
  return new Map(lists.flat().map((article) => [article.path, article]));
}

/** Reads a JSON file of a service. Returns `missing`, if given, for a 404. `noun` describes the file in errors. */
async function fetchJson<Value>(url: string, schema: z.ZodType<Value>, noun: string, missing?: Value): Promise<Value> {
  const fail = (reason: string) => new CommandError(`--against: ${url} cannot be read: ${reason}`);
  let bytes: Buffer | undefined;
  try {
    // The timeout of ofetch covers the headers only; a signal covers the body too.
    const signal = AbortSignal.timeout(timeoutMs);
    // Lazy: only `--against URL` needs ofetch.
    const { ofetch } = await import('ofetch');
    const retryStatusCodes = [500, 502, 503, 504];
    const { body } = await ofetch.raw<unknown, 'stream'>(url, { responseType: 'stream', retryStatusCodes, signal });
    bytes = await collect(body ?? [], maxListMiB * 1024 * 1024);
  } catch (error) {
    if (missing !== undefined && (error as FetchError).status === 404) return missing;
    throw fail(reasonOf(error));
  }
  if (!bytes) throw fail(`the response is larger than ${maxListMiB} MiB`);
  try {
    return schema.parse(JSON.parse(bytes.toString()));
  } catch {
    throw fail(`the response is not ${noun}`);
  }
}

/** Describes a failed request by the status, else by the innermost error, such as "connect ECONNREFUSED". */
function reasonOf(error: unknown): string {
  const { name, status, statusText, cause, message } = error as Error & { status?: number; statusText?: string };
  if (name === 'TimeoutError') return `no response within ${timeoutMs / 1000} s`;
  if (status !== undefined) return `the response is ${status} ${statusText}`.trim();
  return cause instanceof Error ? reasonOf(cause) : message;
}
