import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../server/keys/key.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { article, buildProject, validProject, writeFiles } from '../helpers/project.ts';
import { createKumaUpstream } from '../helpers/upstream-kuma.ts';
import { createRdapUpstream } from '../helpers/upstream-rdap.ts';
import { createUpstream } from '../helpers/upstream.ts';
import { startProcess } from '../server/process.ts';
import { bytes } from './targets/bytes.ts';
import { brokenRows, limitedRows } from './targets/failure-rows.ts';
import type { Row } from './targets/line.ts';
import { requestRows } from './targets/request-rows.ts';
import { targetRows } from './targets/target-rows.ts';
import { exchange, toRecord } from './targets/wire.ts';

// Every answer is compared with the snapshot: status line, headers, body and the state of the
// connection. To accept a changed answer, run `vitest run test/http/targets.test.ts -u`.

/** A server with its API keys by their placeholders in the rows. */
interface Served {
  readonly port: number;
  readonly dataDir: string;
  /** Creates new keys with full limits. */
  readonly issueKeys: () => Promise<Readonly<Record<string, string>>>;
}

const ends: (() => void | Promise<void>)[] = [];
const onEnd = (end: () => void | Promise<void>): void => void ends.unshift(end);
let root: string;

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

beforeAll(async () => {
  root = createFolder();
  const { base } = await createRdapUpstream({ onEnd });
  writeFiles(root, {
    ...validProject,
    'content/blog/news/first.md': article(
      { title: 'First', date: '2026-01-02', aliases: '[/blog/old/First.html]' },
      'Hello *world*.\n\n## Details\n\nMore.\n',
    ),
    'catalog/domains.yaml': String(validProject['catalog/domains.yaml']).replace(
      'active: true,',
      `active: true, lookup: { rdap: "${base}" },`,
    ),
  });
  await buildProject(root);
});

afterAll(async () => {
  for (const end of ends) await end();
});

/** Starts a server for a part of the table, optionally with failing upstreams. */
async function serve(settings: Readonly<Record<string, string>>, fails = false): Promise<Served> {
  const folder = createFolder();
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
  // No row sends an action to these, so that their state is always the same.
  world.hetzner.servers.set(43, 'running');
  const idle = { provider: 'panel', ref: world.panel.wings.uuid.slice(0, 8), logFile: null } as const;
  await world.store.servers.put({ server: 'game:idle', ...idle });
  await world.store.servers.put({ server: 'vps:idle', ...idle, provider: 'cloud', ref: '43' });
  const servers = ['game:mine', 'vps:mine', 'game:gone', 'vps:gone', 'game:idle', 'vps:idle'] as const;
  const issueKeys = async () => ({
    '{key}': await world.issueKey({ servers }),
    '{reader}': await world.issueKey({ servers, scopes: ['vps-power:read', 'game-logs:read'] }),
    '{unknown}': generateApiKey().text,
  });
  return { port: await server.listening(), dataDir: world.settings.DATA_DIR!, issueKeys };
}

let rows = 0;

/** A loopback address that no other row uses, so that each row starts with full limits. */
function nextAddress(): string {
  rows += 1;
  return `127.1.${rows >> 7}.${(rows & 127) + 1}`;
}

/** Sends the requests of a row in order and records the last answer. */
async function recordRow({ port, issueKeys }: Served, row: Row): Promise<string> {
  const from = nextAddress();
  const keys: Readonly<Record<string, string>> = await issueKeys();
  const fill = (text: string): string => text.replaceAll(/\{(?:key|reader|unknown)\}/g, (name) => keys[name]!);
  const ask = (line: string) => exchange(port, toBytes(fill(line)), from);
  const lines = typeof row === 'string' ? [row] : row;
  for (const line of lines.slice(0, -1)) await ask(line);
  const last = lines.at(-1)!;
  const isVolatile = /openapi|service-status\.js|^GET \/v1\/key .*\{/.test(last);
  if (!last.includes('{etag}')) return toRecord(await ask(last), isVolatile);
  const full = await exchange(port, toBytes(fill(last.replace(/ \| If-None-Match: .*/, ''))), nextAddress());
  const [, etag = ''] = full.answers[0]!.headers.find(([name]) => name.toLowerCase() === 'etag') ?? [];
  return toRecord(await ask(last.replace('{etag}', etag)), isVolatile);
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
function toCases(group: readonly Row[]): (readonly [name: string, row: Row])[] {
  return group.map((row) => {
    const name = typeof row === 'string' ? row : row.join(', then ');
    return [name.replaceAll('\r\n', ' ').slice(0, 200), row] as const;
  });
}

describe('a server', () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve({
      CORS_ORIGINS: '*,https://www.example.com',
      // One per second, so that the remaining limit does not depend on the machine's speed.
      RATELIMIT_RPS: '1',
      DOMAIN_RATELIMIT_RPS: '1',
      DOMAIN_RATELIMIT_BURST: '1',
      POWER_RATELIMIT_RPS: '1',
      POWER_RATELIMIT_BURST: '2',
      MAX_FEEDBACK_BODY_BYTES: '64',
    });
  });

  describe.each(Object.entries({ ...targetRows, ...requestRows }))('answers to %s', (_, group) => {
    test.each(toCases(group))('%s', async (_name, row) => {
      expect(await recordRow(served, row)).toMatchSnapshot('answer');
    });
  });

  test.each(Object.entries(bytes))('answers to %s', async (_, sent) => {
    expect(toRecord(await exchange(served.port, Buffer.from(sent, 'latin1'), nextAddress()))).toMatchSnapshot('answer');
  });
});

describe('a server with a client over its limit', () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve({ CORS_ORIGINS: 'https://www.example.com', RATELIMIT_RPS: '1', RATELIMIT_BURST: '1' });
  });

  test.each(toCases(limitedRows))('%s', async (_, row) => {
    expect(await recordRow(served, ['GET /v1/info', row as string])).toMatchSnapshot('answer');
  });
});

describe('a server with failing store and upstreams', () => {
  let served: Served;
  beforeAll(async () => {
    const sound = await serve({ CORS_ORIGINS: '*,https://www.example.com' }, true);
    const keys = await sound.issueKeys();
    const database = new DatabaseSync(join(sound.dataDir, 'hosting.sqlite'));
    database.exec('ALTER TABLE hosting_api_keys RENAME TO lost');
    database.close();
    served = { ...sound, issueKeys: () => Promise.resolve(keys) };
  });

  test.each(toCases(brokenRows))('%s', async (_, row) => {
    expect(await recordRow(served, row)).toMatchSnapshot('answer');
  });
});
