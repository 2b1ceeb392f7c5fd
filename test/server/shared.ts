import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ApiKeyRecord } from '../../server/store/types.ts';
import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { ends } from '../helpers/ends.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { createKumaUpstream } from '../helpers/upstream-kuma.ts';
import { createRdapUpstream } from '../helpers/upstream-rdap.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { OnEnd } from '../helpers/upstream.ts';
import {
  buildProject,
  createProject,
  sharedFolder,
  siteUrls,
  temporaryFolder,
  validProject,
} from '../helpers/project.ts';

/** The `expect.poll` options for short waits; the timeout only limits failing tests. */
export const eventually = { timeout: 120_000, interval: 10 };

/** A server on the shared project, with an API key with all scopes for `game:mine` and `vps:mine`. */
export interface SharedApp extends TestApp {
  readonly key: string;
}

/** A server with its customers and simulated services. */
export interface Served {
  readonly app: SharedApp;
  readonly world: HostingWorld;
}

let built: Promise<string> | undefined;
let world: Promise<HostingWorld & { key: string }> | undefined;
const apps = new Map<string, Promise<SharedApp>>();
const onEnd: OnEnd = (end) => void ends.push(end);
const forever: OnEnd = () => undefined;

/** Builds the valid project once per process; tests only read it. */
export function sharedProject(): Promise<string> {
  return (built ??= buildShared());
}

async function buildShared(): Promise<string> {
  const folder = temporaryFolder((remove) => void process.once('exit', () => void remove()));
  // Vitest ends workers by this signal, which emits no exit event.
  process.once('SIGTERM', () => process.exit());
  const rdap = await createRdapUpstream({ onEnd: forever });
  rdap.server.unref();
  const catalog = String(validProject['catalog/domains.yaml']);
  const withLookup = catalog.replace('active: true,', `active: true, lookup: { rdap: "${rdap.base}" },`);
  const root = createProject({ 'catalog/domains.yaml': withLookup }, folder);
  await buildProject(root, { urls: siteUrls });
  return root;
}

/** Creates customers and servers once per test file. */
export function sharedHosting(): Promise<HostingWorld & { key: string }> {
  return (world ??= createSharedHosting());
}

async function createSharedHosting(): Promise<HostingWorld & { key: string }> {
  const folder = sharedFolder(() => {
    world = undefined;
    apps.clear();
  });
  const hosting = await createHostingWorld(folder, { onEnd });
  const chat = await createUpstream(() => ({ status: 200, body: '{}' }), { onEnd });
  const kuma = await createKumaUpstream({ onEnd });
  const settings = {
    ...hosting.settings,
    ...kuma.settings,
    CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/token-of-the-tests`,
    FEEDBACK_RATELIMIT_BURST: '100000',
    DOMAIN_RATELIMIT_BURST: '100000',
  };
  const key = await hosting.issueKey();
  await hosting.addAction(key);
  return { ...hosting, settings, key };
}

/** Copies the shared project for a test that changes it. */
export async function copyProject(): Promise<string> {
  const root = join(temporaryFolder(), 'project');
  cpSync(await sharedProject(), root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  return root;
}

/** Starts a server with the shared project and customers, once per test file and settings; tests only send requests. */
export function sharedApp(settings: Record<string, string> = {}): Promise<SharedApp> {
  const name = JSON.stringify(settings);
  const started = apps.get(name) ?? serveShared(settings, onEnd);
  apps.set(name, started);
  return started;
}

/** Starts a separate server with the shared project and customers. */
export async function serveShared(settings: Record<string, string> = {}, end?: OnEnd): Promise<SharedApp> {
  const { key, settings: hosting } = await sharedHosting();
  const options = { root: await sharedProject(), settings: { ...hosting, ...settings }, onEnd: end };
  return { ...(await createTestApp(options)), key };
}

/** Starts a server with the shared project and its own customers, or with those of a world that exists. */
export async function serveHosting(
  settings: Record<string, string> = {},
  {
    fields,
    world: given,
    ...options
  }: Parameters<typeof createHostingWorld>[1] & { fields?: Partial<ApiKeyRecord>; world?: HostingWorld } = {},
): Promise<Served> {
  const own = given ?? (await createHostingWorld(temporaryFolder(), options));
  const started = await createTestApp({ root: await sharedProject(), settings: { ...own.settings, ...settings } });
  return { app: { ...started, key: await own.issueKey(fields) }, world: own };
}

let restore: (() => void) | undefined;

/**
 * Returns the shared server with a new key and an empty audit log. Tests may change the store and fail services, which
 * are restored at the end of the test. Takes 3 ms of CPU, against 75 ms for a new server.
 */
export async function borrowHosting(settings: Record<string, string> = {}): Promise<Served> {
  const app = await sharedApp(settings);
  const hosting = await sharedHosting();
  if (restore === undefined) {
    hosting.change('DELETE FROM hosting_audit');
    restore = hosting.save();
    onEnd(() => void (restore = undefined));
  }
  onTestFinished(restore);
  return { app: { ...app, key: await hosting.issueKey() }, world: hosting };
}
