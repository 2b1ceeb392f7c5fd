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

// Test files run one after the other in the same process, which loads a helper only once: a helper cannot register an `afterAll` for
// each file that uses it.
afterAll(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
