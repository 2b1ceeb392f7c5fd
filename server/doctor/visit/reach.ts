import { connect } from 'node:tls';
import { isIP } from 'node:net';
import { fault, ok, skipped } from '../finding.ts';
import type { Outcome } from '../finding.ts';
import type { Check } from './types.ts';

const dayMs = 86_400_000;
/** Certificates that renew themselves are renewed 30 days before their end. */
const fewDays = 14;
const maxSkewMs = 30_000;

/** Whether an address is one of this machine itself. */
export function isLoopback(base: URL): boolean {
  return /^(?:localhost|127\.[\d.]+|::1)$/.test(hostOf(base));
}

/** The host of an address, without the brackets of IPv6. */
export function hostOf(base: URL): string {
  return base.hostname.replace(/^\[|\]$/g, '');
}

/** Whether the service answers at all, and not only its proxy. */
export const answers: Check = {
  name: 'answers',
  async run({ visit }) {
    const { status, header, json } = await visit('/health');
    if (status >= 300 && status < 400) {
      return fault(`/health is redirected to ${header('location')}`, 'give --url the address that it leads to');
    }
    if (status >= 502 && status <= 504) {
      return fault(
        `/health answers ${status}`,
        'the proxy answers, the service behind it does not: see whether it runs, and the address that the proxy has of it',
      );
    }
    const { status: health } = (json() ?? {}) as { status?: unknown };
    if (status !== 200 || health !== 'healthy') {
      return fault(`/health answers ${status}, not as this service does`, 'see that all paths go to the service');
    }
    const ready = await visit('/ready');
    const { status: readiness } = (ready.json() ?? {}) as { status?: unknown };
    if (ready.status === 200 && readiness === 'ready') return ok('healthy and ready');
    const advice = 'unready: the store does not answer, see its log; draining: it is being stopped';
    return fault(`/ready answers ${ready.status} ${typeof readiness === 'string' ? readiness : ''}`.trimEnd(), advice);
  },
};

/** Whether clients reach it encrypted, with a certificate that stays valid. */
export const encryption: Check = {
  name: 'TLS',
  async run({ base }) {
    if (base.protocol === 'https:') return readCertificate(hostOf(base), Number(base.port || 443));
    if (isLoopback(base)) return skipped('a loopback address needs none');
    return fault('API keys travel in plain text', 'serve it by https alone, and redirect http to it');
  },
};

function readCertificate(host: string, port: number): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    // The checks before this one have verified the certificate.
    const socket = connect({ host, port, ...(isIP(host) === 0 && { servername: host }) }, () => {
      const until = Date.parse(socket.getPeerCertificate().valid_to);
      const protocol = socket.getProtocol() ?? 'TLS';
      socket.destroy();
      const days = Math.floor((until - Date.now()) / dayMs);
      if (days >= fewDays) return resolve(ok(`${protocol}, valid for ${days} days`));
      resolve(fault(`the certificate ends in ${days} days`, 'renew it, and see why it was not renewed by itself'));
    });
    socket.setTimeout(10_000, () => socket.destroy(new Error('no TLS handshake within 10 s')));
    socket.on('error', reject);
  });
}

/** Whether the clock of the service is right: expiry of keys, scheduled articles and maintenance depend on it. */
export const clock: Check = {
  name: 'clock',
  async run({ visit }) {
    const asked = Date.now();
    const { header } = await visit('/health');
    const date = Date.parse(header('date'));
    if (Number.isNaN(date)) return fault('there is no Date header', 'let the proxy keep the headers of the service');
    const skew = date - (asked + Date.now()) / 2;
    if (Math.abs(skew) <= maxSkewMs) return ok('within 30 s of this machine');
    const seconds = Math.round(skew / 1000);
    return fault(`it is ${seconds} s off this machine`, 'set both clocks by NTP');
  },
};
