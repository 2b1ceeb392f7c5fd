import { defineConfig } from 'vitest/config';

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
        test: { name: 'slow', include: ['test/slow/**/*.test.ts'], exclude: ['**/node_modules/**'] },
      },
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
