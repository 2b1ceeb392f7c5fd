import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createServerLock } from '../../../server/hosting/providers/local/lock.ts';
import { ProviderError } from '../../../server/upstream/error.ts';
import { temporaryFolder } from '../../helpers/project.ts';

function prepare() {
  const base = join(temporaryFolder(), 'local/here/demo');
  const [one, other] = [createServerLock(base), createServerLock(base)];
  onTestFinished(() => {
    one.release();
    other.release();
  });
  return { one, other, holderFile: `${base}.holder.json` };
}

/** The detail of a refusal, which only the log has. */
function refusal(work: () => void): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ProviderError) return (error.cause as Error).message;
    throw error;
  }
  return 'none';
}

/** A process group of its own; resolves when it runs. */
async function spawnGroup(): Promise<number> {
  const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  onTestFinished(() => void child.kill('SIGKILL'));
  return child.pid!;
}

test('a lock is held once, and can be taken after it was released', () => {
  const { one, other, holderFile } = prepare();
  one.acquire();
  expect(refusal(() => other.acquire())).toBe('another process runs this local server');
  one.describe(process.pid);
  expect(refusal(() => other.acquire())).toMatch(
    new RegExp(`^process ${process.pid} on ${hostname()} since \\S+ runs this local server$`),
  );
  one.release();
  expect(existsSync(holderFile)).toBe(false);
  other.acquire();
  expect(refusal(() => one.acquire())).toBe('another process runs this local server');
});

test.runIf(process.platform === 'linux')(
  'a free lock waits for the group of a dead holder, if it is the same',
  async () => {
    const { one, other, holderFile } = prepare();
    const group = await spawnGroup();
    one.acquire();
    one.describe(group);
    const holder = readFileSync(holderFile, 'utf8');
    one.release();
    const takeAfter = (text: string): string => {
      writeFileSync(holderFile, text);
      const detail = refusal(() => other.acquire());
      other.release();
      return detail;
    };
    expect(takeAfter(holder)).toContain('has ended, but its server has not yet');
    // The ID belongs to another group now, or the holder was on another machine.
    expect(takeAfter(holder.replace(/"groupStarted":"\d+"/, '"groupStarted":"1"'))).toBe('none');
    expect(takeAfter(holder.replace(hostname(), 'elsewhere'))).toBe('none');
    expect(takeAfter('{"pid":')).toBe('none');
    process.kill(-group, 'SIGKILL');
    await expect.poll(() => takeAfter(holder), { timeout: 20_000 }).toBe('none');
  },
);

test('another instance sees whether a lock is taken, and disturbs no start', () => {
  const { one, other, holderFile } = prepare();
  expect([one.isTaken(), other.isTaken()]).toEqual([false, false]);
  one.acquire();
  one.describe(process.pid);
  expect([one.isTaken(), other.isTaken()]).toEqual([false, true]);
  const holder = readFileSync(holderFile, 'utf8');
  one.release();
  expect([one.isTaken(), other.isTaken()]).toEqual([false, false]);
  // What a holder that was killed leaves, on a machine that is gone.
  writeFileSync(holderFile, holder.replace(hostname(), 'elsewhere'));
  expect(other.isTaken()).toBe(false);
  expect(existsSync(holderFile)).toBe(false);
  one.acquire();
});

test.runIf(process.platform === 'linux')('the server of a dead holder counts as long as it runs', async () => {
  const { one, other, holderFile } = prepare();
  const group = await spawnGroup();
  one.acquire();
  one.describe(group);
  const holder = readFileSync(holderFile, 'utf8');
  one.release();
  writeFileSync(holderFile, holder);
  expect(other.isTaken()).toBe(true);
  process.kill(-group, 'SIGKILL');
  await expect.poll(() => other.isTaken(), { timeout: 20_000 }).toBe(false);
});

test('a folder that cannot be used is a refusal', () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  expect(refusal(() => createServerLock(join(file, 'demo')).acquire())).toContain('cannot be taken');
});
