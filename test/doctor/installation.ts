import { join } from 'node:path';
import type { NamedResult } from '../../server/doctor/run.ts';
import { runHere } from '../commands/run-command.ts';
import { createTestApp } from '../helpers/app.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { createKumaUpstream } from '../helpers/upstream-kuma.ts';
import { panelKeys } from '../helpers/upstream-panel.ts';
import { hetznerToken } from '../helpers/upstream-hetzner.ts';
import { createUpstream } from '../helpers/upstream.ts';
import { copyProject } from '../server/shared.ts';

/** The secret part of the webhook. */
const webhookToken = 'webhook-token-0123456789';

/** An installation with all features, whose external systems are simulated. */
export type Installation = Awaited<ReturnType<typeof createInstallation>>;

/** Creates an installation without faults. */
export async function createInstallation(databaseUrl?: string) {
  const root = await copyProject();
  const world = await createHostingWorld(root, { databaseUrl });
  const kuma = await createKumaUpstream();
  const chat = await createUpstream(() => ({ status: 200, body: '{"type":1}' }));
  const key = await world.issueKey();
  const settings: Record<string, string> = {
    ...world.settings,
    ...kuma.settings,
    // Nothing listens on these ports, and no other test gets them.
    PORT: '2',
    METRICS_PORT: '3',
    DIST_DIR: join(root, 'dist'),
    PUBLIC_URL: 'https://api.example.com',
    TRUSTED_PROXIES: '127.0.0.1,::1',
    STATUS_FILE: join(root, 'status.json'),
    CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/${webhookToken}`,
    SERVICE_VERSION: '1.2.3',
    DNS_SERVERS: 'off',
    RDAP_BOOTSTRAP_URL: 'off',
  };
  const secrets = [panelKeys.write, panelKeys.read, hetznerToken, webhookToken, key.split('_').at(-1)!];
  return {
    root,
    settings,
    world,
    kuma,
    chat,
    /** Starts the server on free ports, for the doctor to check. */
    async start() {
      const app = await createTestApp({ root, settings: { ...settings, PORT: '0', METRICS_PORT: '0' } });
      Object.assign(settings, { PORT: String(app.port), METRICS_PORT: String(app.metricsPort) });
      return app;
    },
    /** Runs the doctor with changed settings ('' unsets one), and checks the output for secrets. */
    async examine(changes: Readonly<Record<string, string>> = {}) {
      const { status, stdout, stderr } = await runHere(['doctor', '--json'], { ...settings, ...changes });
      const text = stdout + stderr;
      for (const secret of secrets) if (text.includes(secret)) throw new Error(`the doctor shows ${secret}`);
      const findings = JSON.parse(stdout) as NamedResult[];
      return { status, stderr, findings, faults: findings.filter(({ state }) => state === 'fault') };
    },
  };
}
