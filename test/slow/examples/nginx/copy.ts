import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import type { RunNginx, RunningNginx } from '../../../helpers/nginx.ts';
import { until } from '../../../helpers/upstream.ts';
import type { OnEnd } from '../../../helpers/upstream.ts';

const examples = resolve(import.meta.dirname, '../../../../examples/nginx');

/** The example configurations. */
export const exampleFiles = ['cached.conf', 'files.conf'] as const;
export type ExampleFile = (typeof exampleFiles)[number];

/** What an operator changes in a copy of an example. */
export interface Places {
  /** The ports of the instances. */
  readonly instances: readonly number[];
  /** DIST_DIR; `files.conf` needs it. */
  readonly dist?: string;
  /** STATUS_FILE. */
  readonly statusFile?: string;
  /** Another limit than 50 requests a second and 100 at once. */
  readonly limit?: { readonly rate: string; readonly burst: number };
}

/** Starts nginx with a copy of an example, in which nothing but these places is changed. */
export async function runExample(
  run: RunNginx,
  file: ExampleFile,
  places: Places,
  onEnd: OnEnd = onTestFinished,
): Promise<RunningNginx> {
  const nginx = await run((folder, port) => copyExample(folder, port, file, places));
  onEnd(() => nginx.stop());
  let isListening = false;
  await until(`nginx listens: ${nginx.log()}`, () => {
    void fetch(`http://127.0.0.1:${nginx.port}/.up`, { redirect: 'manual' }).then(
      () => (isListening = true),
      () => {},
    );
    return isListening;
  });
  return nginx;
}

function copyExample(folder: string, port: number, file: ExampleFile, places: Places): string {
  cpSync(join(examples, 'snippets'), join(folder, 'snippets'), { recursive: true });
  const { instances, dist, statusFile = join(folder, 'status.json'), limit } = places;
  const parameters = ' max_fails=1 fail_timeout=2s;';
  const changes: [from: string, to: string][] = [
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['listen [::]:80;', `listen [::1]:${port};`],
    ['server 127.0.0.1:3000' + parameters, instances.map((at) => `server 127.0.0.1:${at}${parameters}`).join('\n  ')],
    ['/var/lib/hosting-api/status.json', statusFile],
    file === 'cached.conf'
      ? ['/var/cache/hosting-api ', `${folder}/cache `]
      : ['/var/lib/hosting-api-dist/', `${dist}/`],
  ];
  if (limit) changes.push(['rate=50r/s', `rate=${limit.rate}`], ['burst=100 ', `burst=${limit.burst} `]);
  let text = readFileSync(join(examples, file), 'utf8');
  for (const [from, to] of changes) {
    const parts = text.replaceAll(`# ${from}`, '').split(from);
    if (parts.length !== 2) throw new Error(`${file} must have one ${from}, not ${parts.length - 1}`);
    text = parts.join(to);
  }
  writeFileSync(join(folder, file), text);
  return `include ${folder}/${file};`;
}
