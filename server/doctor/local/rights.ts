import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Env } from '../../env.ts';
import type { Environment } from '#common/environment.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, ok } from '../finding.ts';

/** Names of variables that hold a secret: our own settings, and those that a PROVIDERS_FILE refers to. */
const secretName =
  /^(?:DATABASE_URL|PGPASSWORD|CHAT_FEEDBACK_WEBHOOK_URL|WHMCS_IDENTIFIER)$|(?:^|_)(?:TOKEN|SECRET|PASSWORD|KEY)$/;

/** Fields of a PROVIDERS_FILE with a secret that is written there, and not as "${NAME}". */
const writtenSecret = /\b(?:token|read_only_token|token_secret)["']?\s*:\s*["']?(?!\$\{)[^\s"',}]/;

/** Checks that other users of this machine cannot read what is secret. */
export async function checkRights(env: Env, environment: Environment): Promise<readonly Finding[]> {
  const files = Object.entries(environment).flatMap(([name, path]) => {
    const isSecret = name.endsWith('_FILE') && secretName.test(name.slice(0, -'_FILE'.length));
    return isSecret && path ? [{ name, path }] : [];
  });
  if (await holds('.env', hasSecret)) {
    files.push({ name: '.env', path: '.env' });
  }
  const providers = env.PROVIDERS_FILE;
  if (providers !== undefined && (await holds(providers, (text) => writtenSecret.test(text)))) {
    files.push({ name: 'PROVIDERS_FILE', path: providers });
  }
  const outcomes = await Promise.all([
    checkFolder(env.DATA_DIR),
    ...files.map(({ name, path }) => checkFile(name, path)),
  ]);
  const faults = outcomes.filter((outcome) => outcome !== undefined);
  const found = faults.length > 0 ? faults : [ok('no other user of this machine can read what is secret')];
  return found.map((outcome) => ({ check: 'rights', ...outcome }));
}

async function checkFolder(folder: string): Promise<Outcome | undefined> {
  if (!(await isOpen(folder, 0o007))) return undefined;
  return fault(`other users can look into DATA_DIR (${resolve(folder)})`, `chmod 700 ${resolve(folder)}`);
}

async function checkFile(name: string, path: string): Promise<Outcome | undefined> {
  if (!(await isOpen(path, 0o004))) return undefined;
  return fault(`every user can read ${name}, which holds a secret`, `chmod o-rwx ${resolve(path)}`);
}

/** Whether a file of settings has a secret, and not only the path of one or how long one lasts. */
function hasSecret(text: string): boolean {
  return Object.entries(parseEnv(text)).some(([name, value]) => secretName.test(name) && value !== '');
}

async function holds(path: string, test: (text: string) => boolean): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text !== undefined && test(text);
}

/** Whether others have one of these rights on a path, and may enter all folders above it. False for a missing one. */
async function isOpen(path: string, rights: number): Promise<boolean> {
  const target = await realpath(path).catch(() => undefined);
  if (target === undefined || !((await stat(target)).mode & rights)) return false;
  for (let folder = dirname(target); ; folder = dirname(folder)) {
    // oxlint-disable-next-line no-await-in-loop
    if (!((await stat(folder)).mode & 0o001)) return false;
    if (folder === dirname(folder)) return true;
  }
}
