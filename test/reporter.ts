import type { Reporter, TestModule } from 'vitest/node';

/** Ends a run with one line that people and programs can read: `N passed, N failed`, and `, N skipped` if any were. */
export default class SummaryReporter implements Reporter {
  #line = '';

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    // What no test was there to catch.
    const counts = { passed: 0, failed: unhandled.length, skipped: 0 };
    for (const module of modules) {
      // A file that cannot even be loaded holds no test that could say so.
      if (module.errors().length > 0) counts.failed += 1;
      // Nor do the tests of a group that cannot be set up: they count as skipped.
      for (const suite of module.children.allSuites()) if (suite.errors().length > 0) counts.failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') counts[state] += 1;
      }
    }
    this.#line = `${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`;
    process.once('exit', () => process.stdout.write(`${this.#line}\n`));
  }
}
