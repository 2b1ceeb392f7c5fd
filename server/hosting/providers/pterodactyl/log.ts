import { z } from 'zod';
import type { Logger } from '../../../log.ts';
import { createLru } from '../../../lru.ts';
import { parseJson, toProviderError } from '../../../upstream/client.ts';
import type { Reply } from '../../../upstream/client.ts';
import type { ReadClient } from '../../../upstream/reads.ts';
import { providerLogBytes, toLogEnd } from '../game-log.ts';
import { failureOf, isDenied, toPanelError } from './answers.ts';

/** Panels return 4 MiB by default. */
const maxBytes = 8 * 1024 * 1024;
/** Some bytes more than needed: the first character may be cut. */
const tailBytes = providerLogBytes + 8;

const Entry = z.object({
  attributes: z.object({ name: z.string(), is_file: z.unknown().optional(), is_symlink: z.unknown().optional() }),
});
const Folder = z.object({ data: z.array(Entry) });

/** Creates a reader of log files, which returns undefined for a file that is missing or unreadable with the key. */
export function createLogReader(client: ReadClient, log: Pick<Logger, 'warn'>, now: () => number) {
  /** Missing files are remembered for a minute. */
  const missing = createLru<string, true>(10_000, { ttl: 60_000, ttlResolution: 0, perf: { now } });
  const noted = createLru<string, true>(10_000);
  /** Requests a file or folder. Logs a missing permission once for each server. */
  const request = async (server: string, path: string, permission: string, options = {}): Promise<Reply> => {
    const reply = await client.request('GET', `${server}/files/${path}`, options);
    const name = `${server} ${permission}`;
    const ref = server.slice(server.lastIndexOf('/') + 1);
    if (isDenied(reply) && !noted.has(name)) {
      noted.set(name, true);
      log.warn({ ref, permission }, 'the token lacks a permission to read the log of a server');
    }
    return reply;
  };
  /** Looks for a file in the folders of its path, from the nearest up; true if one of them lacks the next part. */
  const isMissing = async (server: string, parts: readonly string[], depth = parts.length - 1): Promise<boolean> => {
    if (depth < 0 || depth < parts.length - 3) return false;
    const directory = new URLSearchParams({ directory: `/${parts.slice(0, depth).join('/')}` });
    const reply = await request(server, `list?${directory.toString()}`, 'file.read');
    if (isDenied(reply)) return false;
    const found = reply.status === 200 ? parseJson(reply.text, Folder) : undefined;
    // The folder may be missing itself.
    if (!found) return await isMissing(server, parts, depth - 1);
    const entry = found.data.find(({ attributes }) => attributes.name === parts[depth])?.attributes;
    return !entry || (depth === parts.length - 1 && entry.is_file === false && entry.is_symlink !== true);
  };
  return async (server: string, file: string | null): Promise<string | undefined> => {
    const parts = (file ?? 'logs/latest.log').split('/').filter(Boolean);
    const query = new URLSearchParams({ file: `/${parts.join('/')}` }).toString();
    const name = `${server} ${query}`;
    if (missing.has(name)) return undefined;
    const options = { maxBytes, tailBytes, headers: { accept: 'application/json, text/plain' } };
    const reply = await request(server, `contents?${query}`, 'file.read-content', options);
    // A proxy may answer with an HTML page and status 200.
    const isPage = reply.headers.get('content-type')?.startsWith('text/html');
    if (reply.status === 200 && !isPage) return toLogEnd(Buffer.from(reply.text));
    if (isNoFile(reply) || isDenied(reply)) return undefined;
    const { code } = failureOf(reply);
    // From version 1.11.9 on, Wings answers 500 for a missing file, and for other failures.
    if (code === 'DaemonConnectionException' && reply.status === 500 && (await isMissing(server, parts))) {
      missing.set(name, true);
      return undefined;
    }
    if (code !== 'FileSizeTooLargeException') throw toPanelError(reply);
    throw toProviderError(reply, 'refused', { message: 'The log is larger than the panel returns' });
  };
}

/** Recognises the answers for a missing file or a folder. */
function isNoFile(reply: Reply): boolean {
  const { code, detail } = failureOf(reply);
  if (code === 'FileNotFoundException' || code === 'FileNotEditableException') return true;
  if (code !== 'DaemonConnectionException') return false;
  // The node says `does not exist on this instance` if it lacks the server.
  return reply.status === 400 || (reply.status === 404 && !detail.includes('on this instance'));
}
