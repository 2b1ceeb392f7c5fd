import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A private CA, like that of a Proxmox cluster, and a certificate for this machine, in PEM. */
export interface TestCertificates {
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

const program = 'openssl';

let made: TestCertificates | undefined;

/** Returns the certificates of this test run, created on first use. */
export function createCertificates(): TestCertificates {
  return (made ??= makeCertificates(2));
}

/** Creates certificates that are valid for this number of days; a negative number makes them expired. */
export function makeCertificates(days: number): TestCertificates {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-tls-'));
  const openssl = (...args: string[]): void => {
    execFileSync(program, args, { cwd: folder, stdio: 'pipe' });
  };
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  try {
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=Test CA');
    openssl('req', ...newKey, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=pve1');
    writeFileSync(join(folder, 'extensions'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
    const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'extensions'];
    openssl('x509', '-req', '-in', 'server.csr', ...signer, '-days', String(days), '-out', 'server.pem');
    return { ca: read('ca.pem'), key: read('server.key'), cert: read('server.pem') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
