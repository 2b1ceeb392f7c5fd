import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { FetchError } from 'ofetch';
import { z } from 'zod';
import { Aliases } from '#contract/articles.ts';
import type { Manifest } from '#contract/release.ts';
import { fileOf, staticFiles } from '#contract/endpoints.ts';
import { CommandError } from '../common/command-line.ts';

/** What is online. */
export interface Online {
  /** The titles of the articles, by path. */
  readonly articles: ReadonlyMap<string, string>;
  /** Former paths of articles. */
  readonly aliases: Aliases;
  /** The numbers of entries; those that a service does not list are unknown. */
  readonly counts: Partial<Manifest['counts']>;
}

/** Two lists of a site of 10,000 articles have 5 MB. */
const maxListMiB = 64;
const timeoutMs = 20_000;

/** Other fields are those of another version of the service. */
const List = z.array(z.object({ path: z.string(), title: z.string() }));
type List = z.infer<typeof List>;

/**
 * Reads what is online: the public lists of a service or the current release of an output folder, which `against` names,
 * else the current release below `out`; undefined if that has none. Throws a {@link CommandError} if `against` cannot be
 * read.
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
    // A service of an older version does not have it.
    fetchJson(base + staticFiles.listRedirects.path, Aliases, 'a map of paths', {}),
  ]);
  const counts = { blogArticles: blog.length, knowledgeBaseArticles: guides.length };
  return { articles: toTitles([blog, guides]), aliases, counts };
}

/** Reads the paths of the current release; undefined if there is none, or it is damaged. */
async function readCurrentRelease(out: string): Promise<Online | undefined> {
  try {
    // Of one release, also while another becomes the current one.
    const directory = await realpath(join(out, 'current'));
    const readText = (file: string): Promise<string> => readFile(join(directory, file), 'utf8');
    const read = async (file: string): Promise<unknown> => JSON.parse(await readText(file));
    // The first line of a manifest is complete but for its files.
    const [head] = (await readText('manifest.json')).split('\n', 1);
    const { counts } = JSON.parse(`${head}}}`) as Manifest;
    // Not validated: that would take as long as parsing, and this generator wrote the files.
    const lists = [await read(fileOf('listBlogArticles')), await read(fileOf('listKnowledgeBaseArticles'))] as List[];
    return { articles: toTitles(lists), aliases: (await read(fileOf('aliases'))) as Aliases, counts };
  } catch {
    return undefined;
  }
}

function toTitles(lists: readonly List[]): ReadonlyMap<string, string> {
  return new Map(lists.flat().map(({ path, title }) => [path, title]));
}

/** Reads a file of a service, which is `noun`. Returns `missing`, if there is one, where the service does not have the file. */
async function fetchJson<Value>(url: string, schema: z.ZodType<Value>, noun: string, missing?: Value): Promise<Value> {
  const fail = (reason: string) => new CommandError(`--against: ${url} cannot be read: ${reason}`);
  let text: string | undefined;
  try {
    // The timeout of ofetch covers the headers only; a signal covers the body too.
    const signal = AbortSignal.timeout(timeoutMs);
    // Loaded here, since most builds compare with the folder that they write.
    const { ofetch } = await import('ofetch');
    text = await readBody(await ofetch.raw<unknown, 'stream'>(url, { responseType: 'stream', signal }));
  } catch (error) {
    if (missing !== undefined && (error as FetchError).status === 404) return missing;
    throw fail(reasonOf(error));
  }
  if (text === undefined) throw fail(`the answer is longer than ${maxListMiB} MiB`);
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw fail(`the answer is not ${noun}`);
  }
}

/** Reads a body; undefined if it is too long. */
async function readBody({ body }: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maxListMiB * 1024 * 1024) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The status of an answer, else the innermost reason, such as "connect ECONNREFUSED". */
function reasonOf(error: unknown): string {
  const { name, status, statusText, cause, message } = error as Error & { status?: number; statusText?: string };
  if (name === 'TimeoutError') return `there was no answer within ${timeoutMs / 1000} s`;
  if (status !== undefined) return `the answer is ${status} ${statusText}`.trim();
  return cause instanceof Error ? reasonOf(cause) : message;
}
