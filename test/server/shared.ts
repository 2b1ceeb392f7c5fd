import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { ends } from '../helpers/ends.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { createKumaUpstream } from '../helpers/upstream-kuma.ts';
import { createRdapUpstream } from '../helpers/upstream-rdap.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { OnEnd } from '../helpers/upstream.ts';
import { buildProject, siteUrls, validProject, temporaryFolder, writeFiles } from '../helpers/project.ts';

/** The `expect.poll` options for short waits; the timeout only limits failing tests. */
export const eventually = { timeout: 20_000, interval: 10 };

/** A server on the shared project, with an API key with all scopes for `game:mine` and `vps:mine`. */
export interface SharedApp extends TestApp {
  readonly key: string;
}

let built: Promise<string> | undefined;
let world: Promise<HostingWorld & { key: string }> | undefined;
let app: Promise<SharedApp> | undefined;
const onEnd: OnEnd = (end) => void ends.push(end);

/** The valid project, built once per test file; tests only read it. */
export function sharedProject(): Promise<string> {
  return (built ??= buildShared());
}

async function buildShared(): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'hosting-api-'));
  onEnd(() => {
    built = undefined;
    world = undefined;
    app = undefined;
    rmSync(root, { recursive: true, force: true });
  });
  const rdap = await createRdapUpstream({ onEnd });
  const catalog = String(validProject['catalog/domains.yaml']);
  const withLookup = catalog.replace('active: true,', `active: true, lookup: { rdap: "${rdap.base}" },`);
  writeFiles(root, { ...validProject, 'catalog/domains.yaml': withLookup });
  await buildProject(root, { urls: siteUrls });
  return root;
}

/** Customers and servers, created once per test file. */
export function sharedHosting(): Promise<HostingWorld & { key: string }> {
  return (world ??= createSharedHosting());
}

async function createSharedHosting(): Promise<HostingWorld & { key: string }> {
  const hosting = await createHostingWorld(await sharedProject(), { onEnd });
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

/** A copy of the shared project that a test may change. */
export async function copyProject(): Promise<string> {
  const root = join(temporaryFolder(), 'project');
  cpSync(await sharedProject(), root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  return root;
}

/** The server with the shared project and customers, started once per test file; tests only send requests. */
export function sharedApp(): Promise<SharedApp> {
  return (app ??= serveShared({}, onEnd));
}

/** Starts a separate server with the shared project and customers. */
export async function serveShared(settings: Record<string, string> = {}, end?: OnEnd): Promise<SharedApp> {
  const { key, settings: hosting } = await sharedHosting();
  const options = { root: await sharedProject(), settings: { ...hosting, ...settings }, onEnd: end };
  return { ...(await createTestApp(options)), key };
}
