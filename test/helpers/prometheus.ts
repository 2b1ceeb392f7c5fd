import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { findFreePort } from './free-port.ts';
import { temporaryFolder } from './project.ts';

/** The files of examples/prometheus. */
export const example = resolve(import.meta.dirname, '../../examples/prometheus');

/** A real Prometheus. */
export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

/** What a test replaces in the files of the example: all waits become short. Expressions stay as they are. */
const shortened: readonly (readonly [RegExp, string])[] = [
  [/_interval: 15s/g, '_interval: 1s'],
  [/for: \d+m$/gm, 'for: 1s'],
];

/** Starts Prometheus with the files of the example, in which only waits and the addresses of the instances are replaced. */
export async function startPrometheus(commands: string, metricsPorts: readonly number[]) {
  const folder = temporaryFolder();
  cpSync(example, folder, { recursive: true });
  for (const name of ['prometheus.yml', 'alerts.yml']) {
    const file = join(folder, name);
    let text = readFileSync(file, 'utf8');
    for (const [pattern, replacement] of shortened) text = text.replaceAll(pattern, replacement);
    for (const [at, port] of metricsPorts.entries()) text = text.replace(`127.0.0.1:${9464 + at}`, `127.0.0.1:${port}`);
    writeFileSync(file, text);
  }
  const port = await findFreePort();
  const options = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn(join(commands, 'prometheus'), options, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const read = async <Data>(path: string): Promise<Data> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: Data; error?: string };
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  };
  while (
    !(await fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`Prometheus did not start:\n${log}`);
    await delay(50);
  }
  return {
    /** The result of an instant query. */
    async query(expression: string) {
      type Sample = { metric: Record<string, string>; value: [number, string] };
      return (await read<{ result: Sample[] }>(`query?query=${encodeURIComponent(expression)}`)).result;
    },
    /** The alerts that fire, as `name upstream`, sorted. */
    async firing() {
      const { alerts } = await read<{ alerts: { state: string; labels: Record<string, string> }[] }>('alerts');
      const found = alerts.filter(({ state }) => state === 'firing');
      const names = found.map(({ labels }) => [labels['alertname'], labels['upstream']].filter(Boolean).join(' '));
      return [...new Set(names)].toSorted();
    },
  };
}
