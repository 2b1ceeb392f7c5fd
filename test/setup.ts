import { resolve } from 'node:path';
import { afterAll, afterEach } from 'vitest';
import { ends } from './helpers/ends.ts';
import { takeFrames } from './server/described-frames.ts';
import { takeComparison } from './server/described.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Number of responses compared with the OpenAPI document. */
    compared?: number;
    /** Number of console stream frames compared with the contract's table. */
    frames?: number;
  }
}

afterEach(({ task }) => {
  task.meta.compared = takeComparison();
  task.meta.frames = takeFrames();
});

// Processes started by tests share a compile cache: stripping the program's types takes each half a second. This
// process does not use the cache, which would grow with each run, because Vitest adds the time to the names of test
// files.
process.env.NODE_COMPILE_CACHE ??= resolve(import.meta.dirname, '../node_modules/.cache/hosting-api');

// Test files share a process, which loads a helper only once, so a helper cannot register an `afterAll` for each file
// that uses it.
afterAll(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
