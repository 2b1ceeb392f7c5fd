import type { Reporter, TestModule } from 'vitest/node';

/**
 * Prints the missing programs, the tests that passed only at a second attempt, the number of responses compared with the
 * OpenAPI document and of stream frames compared with their table, and as the last line of a run `N passed, N failed`,
 * plus `, N skipped` if tests were skipped.
 */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    // Errors outside of tests count as failed.
    const counts = { passed: 0, failed: unhandled.length, skipped: 0 };
    let compared = 0;
    let frames = 0;
    const missing = new Set<string>();
    const unsteady: string[] = [];
    for (const module of modules) {
      // A file that cannot be loaded has no tests, so count it as one failure.
      if (module.errors().length > 0) counts.failed += 1;
      // Tests of a group whose setup fails count as skipped, so count the group as one failure.
      for (const suite of module.children.allSuites()) if (suite.errors().length > 0) counts.failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (test.diagnostic()?.flaky)
          unsteady.push(`${module.relativeModuleId} > ${test.fullName}: ${test.result().errors?.[0]?.message}`);
        compared += test.meta().compared ?? 0;
        frames += test.meta().frames ?? 0;
        if (test.meta().missing !== undefined) missing.add(test.meta().missing!);
        if (state !== 'pending') counts[state] += 1;
      }
    }
    const skipped = [...missing].map(
      (program) => `the tests of a program that is not installed are skipped: ${program}\n`,
    );
    const repeated = unsteady.map((test) => `a defect: passed only at the second attempt: ${test}\n`);
    const line = `${[...skipped, ...repeated].join('')}${compared} answers compared with the OpenAPI document, ${frames} frames with the table of streams\n${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`;
    process.once('exit', () => process.stdout.write(`${line}\n`));
  }
}
