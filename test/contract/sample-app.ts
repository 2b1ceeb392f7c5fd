import type { OpenApi, Operation } from '#contract/openapi.ts';
import { generateApiKey } from '../../server/keys/authorize.ts';
import { startSampleApi } from '../helpers/example-site.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createKumaUpstream } from '../helpers/upstream-kuma.ts';
import { createUpstream } from '../helpers/upstream.ts';

/** A server with the sample content, and the OpenAPI document of the release. */
export type SampleApp = Awaited<ReturnType<typeof serveSample>>;

/** Serves the sample content until the test ends, with the servers from the examples of the document. */
export async function serveSample() {
  const world = await createHostingWorld(temporaryFolder());
  const record = { provider: 'panel', ref: world.panel.wings.uuid, logFile: null } as const;
  await world.store.servers.put({ server: 'game:demo', ...record });
  await world.store.servers.put({ server: 'vps:demo', ...record, provider: 'cloud', ref: '42' });
  // The cursors in the example responses belong to this key.
  const { id, text: key, hash: secretHash } = generateApiKey('AbCdEfGhIj01');
  const createdAt = Date.parse('2026-03-01T12:00:00Z');
  const label = 'Control panel of Example Ltd';
  await world.issueKey({ id, secretHash, label, createdAt, servers: ['game:demo', 'vps:demo'], managesKeys: true });
  await addExampleActions(world, key);
  const kuma = await createKumaUpstream();
  kuma.monitors.set('Game servers', 0);
  const chat = await createUpstream(() => ({ status: 200, body: '{}' }));
  const settings = {
    ...world.settings,
    ...kuma.settings,
    CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/token-of-the-tests`,
    PUBLIC_URL: 'https://api.example.com',
    SERVICE_VERSION: '1.4.0',
  };
  const { app, registry } = await startSampleApi(settings);
  registry.taken.add('example.com');
  const document = (await (await app.request('/v1/openapi.json')).json()) as OpenApi;
  return { ...app, key, document };
}

/** Adds two actions; the example page has only the newest. */
async function addExampleActions({ addAction }: HostingWorld, key: string): Promise<void> {
  const server = 'game:demo';
  const actions = [
    { actionId: '3b9d1c60-52aa-4f0e-8f6b-77c2e1d40a95', requestId: 'restart-4710', at: '2026-03-01T11:55Z' },
    { actionId: '8c1f3a52-9e07-4b6d-a2c8-51d0e97b4f36', requestId: 'restart-4711', at: '2026-03-01T12:00Z' },
  ];
  for (const { at, ...action } of actions) {
    await addAction(key, { ...action, at: Date.parse(at), action: 'restart', server });
  }
}

/** Values of parameters without an example. */
export const ownValues: Readonly<Record<string, string>> = { request_id: 'restart-4711', key_id: 'H7teLH8vXivs' };

/** Creates the example request of an operation. */
export function exampleRequest(path: string, operation: Operation, key: string) {
  const { parameters, requestBody, security } = operation;
  const inQuery = new URLSearchParams();
  let filled = path;
  for (const { name, in: place, example } of parameters) {
    const value = (example ?? ownValues[name]) as string | number | boolean | undefined;
    if (place === 'path') filled = filled.replace(`{${name}}`, String(value));
    if (place === 'query' && value !== undefined) inQuery.set(name, String(value));
  }
  const body = requestBody?.content['application/json']?.example;
  return {
    target: inQuery.size > 0 ? `${filled}?${inQuery.toString()}` : filled,
    headers: {
      ...(security.length > 0 && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}
