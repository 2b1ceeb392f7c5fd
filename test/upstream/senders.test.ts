import { expect, onTestFinished, test } from 'vitest';
import { createPriceSource } from '../../server/domains/prices.ts';
import { createChat } from '../../server/feedback/chat.ts';
import type { ChatName, FeedbackMessage } from '../../server/feedback/chat.ts';
import { createProviders } from '../../server/hosting/providers.ts';
import type { ProviderSettings } from '../../server/hosting/providers.ts';
import { endedCalls } from '../../server/upstream/client.ts';
import { panelKeys, failure } from '../helpers/upstream-panel.ts';
import { createTestLog, createUpstream, json } from '../helpers/upstream.ts';
import type { Answer } from '../helpers/upstream.ts';

const page = '<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>';
const { log } = createTestLog();

const check = (toSettings: (url: string) => ProviderSettings) => async (url: string) => {
  const provider = createProviders({ one: toSettings(url) }, { dataDir: '', log, timeoutMs: 20_000 }).get('one')!;
  onTestFinished(() => provider.close());
  const [first] = await provider.check();
  return `${first!.level}: ${first!.message}`;
};
const send = (kind: ChatName) => async (url: string) => {
  const chat = createChat(kind, `${url}/hooks/0123456789abc`, '1');
  const message: FeedbackMessage = { article: undefined, path: undefined, helpful: true, at: new Date() };
  return await chat.send(message).then(String, ({ answered }: { answered: string }) => `warn: ${answered}`);
};
const readPrices = async (url: string) => {
  const credential = { WHMCS_URL: url, WHMCS_IDENTIFIER: 'identifier', WHMCS_SECRET: 'secret' };
  const source = createPriceSource({ DOMAIN_PRICES: 'whmcs', ...credential, UPSTREAM_TIMEOUT_SECONDS: 20 }, log)!;
  return await source.read().then(String, ({ answered }: { answered: string }) => `warn: ${answered}`);
};
const token = panelKeys.write;
const panel = check((url) => ({ type: 'pterodactyl', url, token }));
const hetzner = check((url) => ({ type: 'hetzner', url, token, stop: 'shutdown' }));
const proxmox = check((url) => ({ type: 'proxmox', url, token_id: 'a@b!c', token_secret: 'secret', stop: 'shutdown' }));

test.each<[name: string, ask: (url: string) => Promise<string>, own: Answer]>([
  ['a panel', panel, failure(401, 'AuthenticationException', 'Unauthenticated.')],
  ['a panel, for another kind of key', panel, failure(403, 'AccessDeniedHttpException', 'an application API key')],
  ['Hetzner Cloud', hetzner, json(401, { error: { code: 'unauthorized' } })],
  ['Proxmox', proxmox, { status: 401, reason: 'No ticket' }],
  ['Proxmox behind a proxy', proxmox, json(401, { data: null })],
  ['WHMCS', readPrices, json(403, { result: 'error', message: 'Invalid IP 192.0.2.1' })],
  ['Discord', send('discord'), json(404, { message: 'Unknown Webhook', code: 10_015 })],
  ['Slack', send('slack'), { status: 404, body: 'no_service' }],
  ['Mattermost', send('mattermost'), json(401, { id: 'api.context', message: 'Invalid', status_code: 401 })],
])('%s refuses a credential by an answer of its own, not by a page in front', async (_, ask, own) => {
  const outcomes: string[] = [];
  const note = ({ outcome }: { readonly outcome: string }): unknown => outcomes.push(outcome);
  endedCalls.subscribe(note);
  onTestFinished(() => endedCalls.unsubscribe(note));
  let answer = own;
  const upstream = await createUpstream(() => answer);
  expect(await ask(upstream.url)).not.toContain('from a proxy');
  expect(outcomes).toContain('credential_refused');
  outcomes.length = 0;
  for (answer of [{ status: own.status, body: page }, { status: own.status }, json(own.status, { error: 'blocked' })]) {
    expect(await ask(upstream.url)).toMatch(/^warn: .*from a proxy or firewall in front of it$/);
    expect(new Set(outcomes)).toEqual(new Set(['rejected']));
  }
});
