import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const examples = resolve(import.meta.dirname, '../../examples/nginx');

/** The example configurations. */
export const exampleFiles = ['cached.conf'] as const;
export type ExampleFile = (typeof exampleFiles)[number];

/** What an operator changes in a copy of an example. */
export interface Places {
  /** The ports of the instances. */
  readonly instances: readonly number[];
  /** The port of nginx; default: a free one. */
  readonly port?: number;
  /** STATUS_FILE. */
  readonly statusFile?: string;
  /** Another limit than 50 requests a second and 100 at once. */
  readonly limit?: { readonly rate: string; readonly burst: number };
  /** Whether a CDN stands in front, at 127.0.0.1. */
  readonly cdn?: boolean;
}

/** Copies an example to a folder of nginx, and changes nothing but these places. Returns the contents of its `http` block. */
export function copyExample(folder: string, port: number, file: ExampleFile, places: Places): string {
  cpSync(join(examples, 'snippets'), join(folder, 'snippets'), { recursive: true });
  const { instances, statusFile = join(folder, 'status.json'), limit, cdn } = places;
  const parameters = ' max_fails=1 fail_timeout=2s;';
  const changes: [from: string, to: string][] = [
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['listen [::]:80;', `listen [::1]:${port};`],
    ['server 127.0.0.1:3000' + parameters, instances.map((at) => `server 127.0.0.1:${at}${parameters}`).join('\n  ')],
    ['/var/lib/hosting-api/status.json', statusFile],
    ['/var/cache/hosting-api ', `${folder}/cache `],
  ];
  if (cdn) changes.push(['# set_real_ip_from 192.0.2.0/24;', 'set_real_ip_from 127.0.0.1;']);
  if (cdn) changes.push(['# real_ip_header', 'real_ip_header'], ['# real_ip_recursive', 'real_ip_recursive']);
  if (limit) changes.push(['rate=50r/s', `rate=${limit.rate}`], ['burst=100 ', `burst=${limit.burst} `]);
  let text = readFileSync(join(examples, file), 'utf8');
  for (const [from, to] of changes) {
    const parts = text.split(from);
    if (parts.length !== 2) throw new Error(`${file} must have one ${from}, not ${parts.length - 1}`);
    text = parts.join(to);
  }
  writeFileSync(join(folder, file), text);
  return `include ${folder}/${file};`;
}
