import { resolve } from 'node:path';
import { afterAll, afterEach } from 'vitest';
import { ends } from './helpers/ends.ts';
import { takeFrames } from './server/described-frames.ts';
import { takeComparison } from './server/described.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** How many answers were compared with the OpenAPI document. */
    compared?: number;
    /** How many frames of console streams were compared with the table of the contract. */
    frames?: number;
  }
}

afterEach(({ task }) => {
  task.meta.compared = takeComparison();
  task.meta.frames = takeFrames();
});

// The processes that tests start need not strip the types of the program again: that is half of a second each. Of this one
// the compile cache would hold a copy for each run, since Vitest adds the time to the name of a test file.
process.env.NODE_COMPILE_CACHE ??= resolve(import.meta.dirname, '../node_modules/.cache/hosting-api');

// Test files run one after the other in the same process, which loads a helper only once: a helper cannot register an `afterAll` for
// each file that uses it.
afterAll(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
