import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', './test/reporter.ts'],
    // Real processes, disks and sockets: slower than units, and slower still on a busy machine.
    testTimeout: 60_000,
    // By default one core is left free; most tests wait for a process or a timer.
    maxWorkers: '100%',
    hookTimeout: 60_000,
    coverage: {
      provider: 'v8',
      include: ['generator/**/*.ts', 'server/**/*.ts'],
      // It runs in a browser, where nobody counts its lines.
      exclude: ['generator/widget/**'],
      reporter: ['text-summary', 'html'],
      thresholds: { lines: 95 },
    },
  },
});
