import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** Needs a fresh process: it measures memory, which earlier files would have increased. */
const measured = 'test/slow/hosting/console/load.test.ts';

/** Files that take long despite their small size. */
const longFiles =
  /test\/(?:lint|slow\/(?:releases\/switching|generator\/hostile-inputs|store\/(?:postgres|locked)|hosting\/(?:console|demo)|server\/loading))\.test\.ts$/;

/**
 * Without timings of an earlier run, Vitest starts with the largest files; a small but slow file would then run last,
 * alone.
 */
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
    // Node runs TypeScript, and no test mocks a module, so Vite's module runner, an eighth of the fast tests' CPU time,
    // is not needed.
    experimental: { viteModuleRunner: false },
    // Tests wait for conditions, also on a busy machine: the timeout only ends tests that would wait forever.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    // By default Vitest leaves one core free. The scripts use more workers than cores, because most tests wait for a
    // process or a timer.
    maxWorkers: '100%',
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: ['test/slow/**', 'test/nightly/**', 'test/bench/**'],
          // Loading the program for each file would take longer than many of the tests.
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
      // Cases that take minutes: see test/README.md.
      { extends: true, test: { name: 'nightly', include: ['test/nightly/**/*.test.ts'] } },
    ],
    coverage: {
      provider: 'v8',
      include: ['generator/**/*.ts', 'server/**/*.ts'],
      // Browser code, without coverage.
      exclude: ['generator/widget/**', 'generator/preview/browser/**', 'generator/reference/browser/**'],
      reporter: ['text-summary', 'html'],
      thresholds: { lines: 95 },
    },
  },
});
