import { request } from 'node:http';
import { createServer } from 'node:https';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../helpers/project.ts';
import { runCommand } from '../../commands/run-command.ts';
import { createInstallation } from '../../doctor/installation.ts';
import { listen } from '../../helpers/free-port.ts';
import { createCertificates, makeCertificates } from '../../helpers/upstream-tls.ts';
import { sharedApp } from '../../server/shared.ts';

/** Starts a TLS proxy in front of the service; its clock may be behind, and its certificate lasts two days. */
async function startTls(
  { ca, key, cert } = createCertificates(),
  behindMs = 0,
  port?: number,
): Promise<{ url: string; ca: string }> {
  port ??= (await sharedApp()).port;
  const proxy = createServer({ key, cert }, (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const sent = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      answer.headers.date = new Date(Date.now() - behindMs).toUTCString();
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(sent);
  });
  const own = await listen(proxy);
  onTestFinished(() => void proxy.close());
  const file = join(temporaryFolder(), 'ca.pem');
  writeFileSync(file, ca);
  return { url: `https://localhost:${own}`, ca: file };
}

async function examine(url: string, env: Record<string, string>) {
  const { status, stdout } = await runCommand(['doctor', '--url', url, '--json'], { cwd: temporaryFolder(), env });
  const findings = JSON.parse(stdout) as { check: string; state: string; seen: string; advice?: string }[];
  return { status, faults: findings.filter(({ state }) => state === 'fault') };
}

test('an untrusted certificate is a fault and ends the checks', async () => {
  const { url } = await startTls();
  const { status, faults } = await examine(url, {});
  expect({ status, checks: faults.map(({ check }) => check) }).toEqual({ status: 1, checks: ['answers'] });
  expect(faults[0]!.advice).toMatch(/^install a certificate/);
});

test('a certificate that expires soon is a fault', async () => {
  const { url, ca } = await startTls();
  const { status, faults } = await examine(url, { NODE_EXTRA_CA_CERTS: ca });
  expect(status).toBe(1);
  expect(faults).toContainEqual({
    check: 'TLS',
    state: 'fault',
    seen: 'the certificate expires in 1 days',
    advice: 'renew it, and find out why the automatic renewal failed',
  });
});

const day = 86_400_000;

test('an expired certificate is a fault whose remedy names the clock', async () => {
  const { url, ca } = await startTls(makeCertificates(-1));
  const { faults } = await examine(url, { NODE_EXTRA_CA_CERTS: ca });
  expect(faults).toMatchObject([
    { check: 'answers', seen: 'the request failed: CERT_HAS_EXPIRED', advice: expect.stringContaining('clock') },
  ]);
});

test.each([
  [2 * day, ['clock of an upstream', 'PUBLIC_URL', 'provider lost', 'status source']],
  [0, ['PUBLIC_URL', 'provider lost', 'status source']],
])('an upstream with an expired certificate and a clock %d ms behind: faults %j', async (behindMs, checks) => {
  const installation = await createInstallation();
  const app = await installation.start();
  const ended = makeCertificates(-1);
  const { url, ca } = await startTls(ended, behindMs, app.port);
  const { url: kuma } = await startTls(ended, behindMs, Number(new URL(installation.kuma.url).port));
  const date = new Date(Date.now() - behindMs).toUTCString();
  for (const upstream of [installation.world.panel, installation.world.hetzner])
    upstream.fail({ status: 200, headers: { date }, body: '{}' }, ({ path }) => path === '/');
  appendFileSync(installation.settings['PROVIDERS_FILE']!, `  lost: { type: hetzner, token: x, url: '${kuma}' }\n`);
  const settings = { ...installation.settings, PUBLIC_URL: url, UPTIME_KUMA_URL: kuma, NODE_EXTRA_CA_CERTS: ca };
  const { stdout } = await runCommand(['doctor', '--json'], { cwd: temporaryFolder(), env: settings });
  const findings = JSON.parse(stdout) as { check: string; state: string; seen: string }[];
  expect(findings.filter(({ state }) => state === 'fault').map(({ check }) => check)).toEqual(checks);
});
