import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { ask } from '../../server/ask.ts';
import { eventually } from '../../server/shared.ts';

/** Waits until a server that was started is ready. Its `ended` is its exit status and signal; it ends at the latest with the test. */
export async function expectReady(server: ChildProcessByStdio<null, Readable, Readable>, port: number) {
  const ended = once(server, 'close');
  onTestFinished(() => void server.kill('SIGKILL'));
  let log = '';
  for (const output of [server.stdout, server.stderr]) output.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const ready = () =>
    ask({ port }, '/ready').then(
      ({ status }) => status,
      () => log,
    );
  await expect.poll(ready, { ...eventually, timeout: 60_000 }).toBe(200);
  return { ended, log: () => log };
}
