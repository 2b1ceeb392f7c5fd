import { execFileSync, spawnSync } from 'node:child_process';
import { expect, onTestFinished } from 'vitest';
import type { TestContext } from 'vitest';
import { temporaryFolder } from './project.ts';

/** Skips a test, with the reason, if this user may not run a required command. On CI, fails instead. */
export function skipWithout(
  context: TestContext,
  [program, ...args]: readonly [string, ...string[]],
  onSkip?: () => void,
): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return;
  const reason = `not permitted here: ${error?.message ?? stderr.trim()}`;
  expect({ CI: process.env.CI, reason }).not.toEqual({ CI: 'true', reason });
  onSkip?.();
  context.skip(reason);
}

/** Mounts a small file system. Skips the test if this user may not mount. */
export function mountSmall(context: TestContext, options: string, onSkip?: () => void): string {
  skipWithout(context, ['unshare', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], onSkip);
  const folder = temporaryFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `mode=700,${options}`, 'tmpfs', folder], { stdio: 'pipe' });
  onTestFinished(() => void execFileSync('umount', ['-l', folder]));
  return folder;
}
