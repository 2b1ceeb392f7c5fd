import { afterAll, afterEach } from 'vitest';
import { ends } from './helpers/ends.ts';
import { takeComparison } from './server/described.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** How many answers were compared with the machine description. */
    compared?: number;
  }
}

afterEach(({ task }) => {
  task.meta.compared = takeComparison();
});

// Test files run one after the other in the same process, which loads a helper only once: a helper cannot register an `afterAll` for
// each file that uses it.
afterAll(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
