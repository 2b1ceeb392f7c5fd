import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** A missing program that tests need, and its package. */
    missing?: string;
  }
}

/** A Debian program that tests run. */
export interface Installed<T> {
  readonly name: string;
  readonly package: string;
  /** Commands of the program, all in one folder. */
  readonly commands: readonly string[];
  /** Other files that the program needs. */
  readonly files?: readonly string[];
  /** More folders to search, as a pattern. The newest version wins. */
  readonly folders?: string;
  /** Starts the program; `folder` holds its commands. Default: returns the folder. */
  readonly start?: (folder: string) => Promise<T>;
  readonly stop?: (started: T) => unknown;
}

/**
 * Groups tests that share a running program. Without the program the tests are skipped with a note at the end of the
 * run, and fail on CI.
 */
export function describeInstalled<T = string>(program: Installed<T>, body: (started: () => T) => void): void {
  const folder = findFolder(program);
  test(`${program.name} is installed on CI`, ({ task }) => {
    if (folder === undefined) task.meta.missing = `${program.name}: apt-get install ${program.package}`;
    expect({ CI: process.env.CI, folder }).not.toEqual({ CI: 'true', folder: undefined });
  });
  describe.skipIf(folder === undefined)(`in ${program.name}`, () => {
    let started: T | undefined;
    beforeAll(async () => {
      started = program.start ? await program.start(folder!) : (folder as T);
    });
    afterAll(() => started && program.stop?.(started));
    body(() => started!);
  });
}

type Parts = Pick<Installed<never>, 'commands' | 'files' | 'folders'>;

function findFolder({ commands, files = [], folders = '' }: Parts): string | undefined {
  if (!files.every((file) => existsSync(file))) return undefined;
  const versions = globSync(folders).toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }));
  return [...versions, ...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/sbin'].find((folder) =>
    commands.every((command) => existsSync(join(folder, command))),
  );
}
