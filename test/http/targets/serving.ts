import { join } from 'node:path';
import { generateApiKey } from '../../../server/keys/authorize.ts';
import { createHostingWorld } from '../../helpers/hosting.ts';
import type { BuildOptions } from '../../../generator/compile.ts';
import { article, buildProject, createProject, temporaryFolder, validProject } from '../../helpers/project.ts';
import type { Files } from '../../helpers/project.ts';
import { createKumaUpstream } from '../../helpers/upstream-kuma.ts';
import { createRdapUpstream } from '../../helpers/upstream-rdap.ts';
import { createUpstream } from '../../helpers/upstream.ts';
import type { OnEnd } from '../../helpers/upstream.ts';
import { startProcess } from '../../server/process.ts';
import type { Row } from './rows.ts';
import { exchange } from './wire.ts';

/** A server, and its API keys by their placeholders in rows. */
export type Served = Awaited<ReturnType<typeof serveTargets>>;

/** Builds the project of the rows: the valid project with a former path and a registry. */
export async function buildTargets(onEnd: OnEnd, more: Files = {}, options?: Partial<BuildOptions>): Promise<string> {
  const { base } = await createRdapUpstream({ onEnd });
  const changes = {
    'content/blog/news/first.md': article(
      { title: 'First', date: '2026-01-02', aliases: '[/blog/old/First.html]' },
      'Hello *world*.\n\n## Details\n\nMore.\n',
    ),
    'catalog/domains.yaml': String(validProject['catalog/domains.yaml']).replace(
      'active: true,',
      `active: true, lookup: { rdap: "${base}" },`,
    ),
    ...more,
  };
  const root = createProject(changes, temporaryFolder(onEnd));
  await buildProject(root, options);
  return root;
}

/** One request per second: the remaining limit must not depend on the speed of the machine. */
export const rowSettings = {
  CORS_ORIGINS: '*,https://www.example.com',
  RATELIMIT_RPS: '1',
  DOMAIN_RATELIMIT_RPS: '1',
  DOMAIN_RATELIMIT_BURST: '1',
  POWER_RATELIMIT_RPS: '1',
  POWER_RATELIMIT_BURST: '2',
  MAX_FEEDBACK_BODY_BYTES: '64',
} as const;

/** Starts a server for a part of the table, whose upstreams may fail. */
export async function serveTargets({
  root,
  settings,
  fails = false,
  onEnd,
}: {
  root: string;
  settings: Readonly<Record<string, string>>;
  fails?: boolean;
  onEnd: OnEnd;
}) {
  const folder = temporaryFolder(onEnd);
  const world = await createHostingWorld(folder, { onEnd });
  const chat = await createUpstream(() => ({ status: fails ? 500 : 200, body: '{}' }), { onEnd });
  const kuma = await createKumaUpstream({ onEnd });
  if (fails) kuma.fail({ status: 500 });
  const server = startProcess(
    {
      ...world.settings,
      ...kuma.settings,
      CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/token-of-the-tests`,
      PORT: '0',
      DIST_DIR: join(root, 'dist'),
      DNS_SERVERS: 'off',
      RDAP_BOOTSTRAP_URL: 'off',
      SERVICE_VERSION: '1.2.3',
      ...settings,
    },
    { cwd: folder, onEnd },
  );
  // No row sends an action to these servers: their state must not change.
  world.hetzner.servers.set(43, 'running');
  const idle = { provider: 'panel', ref: world.panel.wings.uuid.slice(0, 8), logFile: null } as const;
  await world.store.servers.put({ server: 'game:idle', ...idle });
  await world.store.servers.put({ server: 'vps:idle', ...idle, provider: 'cloud', ref: '43' });
  const servers = ['game:mine', 'vps:mine', 'game:gone', 'vps:gone', 'game:idle', 'vps:idle'] as const;
  /** Creates new keys with full limits. */
  const issueKeys = async (): Promise<Readonly<Record<string, string>>> => ({
    '{key}': await world.issueKey({ servers }),
    '{reader}': await world.issueKey({ servers, scopes: ['vps-power:read', 'game-logs:read'] }),
    '{unknown}': generateApiKey().text,
  });
  return { port: await server.listening(), dataDir: world.settings.DATA_DIR!, issueKeys };
}

let rows = 0;

/** Picks an unused loopback address: each row starts with full limits. */
export function nextAddress(): string {
  rows += 1;
  return `127.1.${rows >> 7}.${(rows & 127) + 1}`;
}

/** Sends the requests of a row in order, and records the last answer. */
export async function exchangeRow({ port, issueKeys }: Served, row: Row, send = exchange) {
  const from = nextAddress();
  const keys = await issueKeys();
  const fill = (text: string): string => text.replaceAll(/\{(?:key|reader|unknown)\}/g, (name) => keys[name]!);
  const ask = (line: string) => send(port, toBytes(fill(line)), from);
  const lines = typeof row === 'string' ? [row] : row;
  for (const line of lines.slice(0, -1)) await ask(line);
  const last = lines.at(-1)!;
  const isVolatile = /openapi|service-status\.js|^GET \/v1\/key .*\{/.test(last);
  if (!last.includes('{etag}')) return { recorded: await ask(last), isVolatile };
  const full = await send(port, toBytes(fill(last.replace(/ \| If-(?:None-Match|Range): .*/, ''))), nextAddress());
  const [, etag = ''] = full.answers[0]!.headers.find(([name]) => name.toLowerCase() === 'etag') ?? [];
  return { recorded: await ask(last.replace('{etag}', etag)), isVolatile };
}

/** The bytes of a request in line notation. */
function toBytes(line: string): Buffer {
  const [head = '', ...rest] = line.split(' || ');
  const [first = '', ...headers] = head.split(' | ');
  const body = rest.join(' || ');
  if (body !== '' && !/Transfer-Encoding|Content-Length/.test(head)) headers.push(`Content-Length: ${body.length}`);
  return Buffer.from(`${[`${first} HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n${body}`, 'latin1');
}

/** The rows with their test titles. */
export function toCases(group: readonly Row[]): (readonly [name: string, row: Row])[] {
  return group.map((row) => {
    const name = typeof row === 'string' ? row : row.join(', then ');
    return [name.replaceAll('\r\n', ' ').slice(0, 200), row] as const;
  });
}
