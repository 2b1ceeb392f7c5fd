import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Env } from '../../env.ts';
import type { Release } from '../../releases/load.ts';
import { createUptimeKuma } from '../../status/uptime-kuma.ts';
import { ProviderError } from '../../upstream/error.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, hint, ok, skipped } from '../finding.ts';

/** As long as visitors wait for it. */
const timeoutMs = 5000;

/** A running server writes STATUS_FILE every 15 s while it knows the status. */
const oldMs = 120_000;

/** Checks the source of the status, and the file that it is written to. */
export async function checkStatus(env: Env, release: Release | undefined, isRunning: boolean): Promise<Finding[]> {
  const source = await checkSource(env, release);
  const findings = [{ check: 'status source', ...source }];
  if (env.STATUS_FILE === undefined) return findings;
  return [...findings, { check: 'STATUS_FILE', ...(await checkFile(env.STATUS_FILE, isRunning)) }];
}

async function checkSource(env: Env, release: Release | undefined): Promise<Outcome> {
  const { UPTIME_KUMA_URL: url, UPTIME_KUMA_STATUS_PAGE: page } = env;
  if (url === undefined || page === undefined) {
    if (!release) return skipped('there is no release, which has the monitors');
    const count = release.status.monitors.length;
    if (count > 0) return ok(`${count} of catalog/status.yaml`);
    const advice = 'add one to catalog/status.yaml and build, or set UPTIME_KUMA_URL and UPTIME_KUMA_STATUS_PAGE';
    return fault('there is no monitor, so that /v1/status is 503', advice);
  }
  const kuma = createUptimeKuma({ url, page }, { timeoutMs });
  try {
    const { status } = await kuma.read();
    return ok(`Uptime Kuma says ${status}`);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const advice =
      'see in a browser that the page is published and has monitors, and that this machine may connect to it';
    return fault(`Uptime Kuma: ${error.message}`, advice);
  } finally {
    await kuma.close();
  }
}

async function checkFile(file: string, isRunning: boolean): Promise<Outcome> {
  const folder = resolve(dirname(file));
  const isWritable = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!isWritable) {
    return fault(`this user cannot write to ${folder}`, 'create the folder, and let the user of the server own it');
  }
  const found = await stat(file).catch(() => undefined);
  if (found && !found.isFile()) return fault('it is not a regular file', 'name a file, in a folder that exists');
  const advice = 'see the log of the server for STATUS_FILE and for the status of the platform';
  if (!found) {
    // It may have started just now: only the server knows since when it runs.
    return isRunning
      ? hint('the server has not written it yet', `if it stays so, ${advice}`)
      : ok('the server writes it when it runs');
  }
  const ageMs = Date.now() - found.mtimeMs;
  if (isRunning && ageMs > oldMs) return fault(`the server wrote it ${Math.round(ageMs / 60_000)} minutes ago`, advice);
  return ok(`written ${Math.round(ageMs / 1000)} s ago`);
}
