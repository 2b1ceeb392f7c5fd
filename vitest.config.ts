import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', './test/reporter.ts'],
    // Real processes, disks and sockets: slower than units, and slower still on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    coverage: {
      provider: 'v8',
      include: ['generator/**/*.ts', 'server/**/*.ts'],
      reporter: ['text-summary', 'html'],
      thresholds: { lines: 95 },
    },
  },
});
