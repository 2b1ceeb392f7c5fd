import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** It bounds the memory of its process, which the files before it would have made larger. */
const measured = 'test/slow/hosting/console/load.test.ts';

/** Files that take long for their size. */
const longFiles =
  /test\/(?:lint|slow\/(?:releases\/switching|generator\/hostile-inputs|store\/(?:postgres|locked)|hosting\/(?:console|demo)|server\/loading))\.test\.ts$/;

/** Without the times of an earlier run Vitest begins with the largest files: then a small one that takes long is the last, alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- No array is sorted here.
    const sorted = await super.sort(files);
    return [true, false].flatMap((isLong) => sorted.filter(({ moduleId }) => longFiles.test(moduleId) === isLong));
  }
}

export default defineConfig({
  test: {
    reporters: ['default', './test/reporter.ts'],
    globalSetup: ['test/global-setup.ts'],
    setupFiles: ['test/setup.ts'],
    // Node runs TypeScript itself, and no test mocks a module. Vite's module runner takes an eighth of the CPU of the fast tests.
    experimental: { viteModuleRunner: false },
    // A test waits for conditions: a timeout only ends one that would wait forever, also on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    // By default one core is left free. The scripts use more workers than cores, since most tests wait for a process or a timer.
    maxWorkers: '100%',
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: ['test/slow/**', 'test/nightly/**', 'test/bench/**'],
          // Loading the program again for each file takes longer than many of the tests.
          isolate: false,
        },
      },
      // Load, timing, kills, broken disks, browsers and real seconds.
      {
        extends: true,
        test: {
          name: 'slow',
          include: ['test/slow/**/*.test.ts'],
          exclude: ['**/node_modules/**', measured],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'slow-alone', include: [measured] } },
      // What takes minutes by nature: test/README.md lists it.
      { extends: true, test: { name: 'nightly', include: ['test/nightly/**/*.test.ts'] } },
    ],
    coverage: {
      provider: 'v8',
      include: ['generator/**/*.ts', 'server/**/*.ts'],
      // They run in a browser, where no coverage is measured.
      exclude: ['generator/widget/**', 'generator/preview/browser/**', 'generator/reference/browser/**'],
      reporter: ['text-summary', 'html'],
      thresholds: { lines: 95 },
    },
  },
});
