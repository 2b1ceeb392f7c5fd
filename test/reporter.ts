import type { Reporter, TestModule } from 'vitest/node';

/** Ends a run with one line that people and programs can read: `N passed, N failed`, and `, N skipped` if any were. */
export default class SummaryReporter implements Reporter {
  #line = '';

  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      // A file that cannot even be loaded holds no test that could say so.
      if (module.errors().length > 0) counts.failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') counts[state] += 1;
      }
    }
    this.#line = `${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`;
    process.once('exit', () => process.stdout.write(`${this.#line}\n`));
  }
}
