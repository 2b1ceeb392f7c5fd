import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../helpers/project.ts';
import { runCommand } from '../../commands/run-command.ts';
import { createCertificates } from '../../helpers/upstream-tls.ts';
import { sharedApp } from '../../server/shared.ts';

/** Starts a TLS proxy in front of the service; its certificate is valid for two days. */
async function startTls(): Promise<{ url: string; ca: string }> {
  const { port } = await sharedApp();
  const { ca, key, cert } = createCertificates();
  const proxy = createServer({ key, cert }, (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const sent = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    incoming.pipe(sent);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const file = join(temporaryFolder(), 'ca.pem');
  writeFileSync(file, ca);
  return { url: `https://localhost:${(proxy.address() as AddressInfo).port}`, ca: file };
}

async function examine(url: string, env: Record<string, string>) {
  const { status, stdout } = await runCommand(['doctor', '--url', url, '--json'], { cwd: temporaryFolder(), env });
  const findings = JSON.parse(stdout) as { check: string; state: string; seen: string; advice?: string }[];
  return { status, faults: findings.filter(({ state }) => state === 'fault') };
}

test('a certificate that clients refuse is found, and ends the checks', async () => {
  const { url } = await startTls();
  const { status, faults } = await examine(url, {});
  expect({ status, checks: faults.map(({ check }) => check) }).toEqual({ status: 1, checks: ['answers'] });
  expect(faults[0]!.advice).toMatch(/^clients refuse the certificate/);
});

test('a certificate that ends soon is found', async () => {
  const { url, ca } = await startTls();
  const { status, faults } = await examine(url, { NODE_EXTRA_CA_CERTS: ca });
  expect(status).toBe(1);
  expect(faults).toContainEqual({
    check: 'TLS',
    state: 'fault',
    seen: 'the certificate ends in 1 days',
    advice: 'renew it, and see why it was not renewed by itself',
  });
});
