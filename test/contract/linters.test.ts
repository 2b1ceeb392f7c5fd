import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectral from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { expect, test } from 'vitest';
import { document } from './document.ts';

// All rules are enabled. Both linters compare examples with schemas, and find dead and unused references.
const linters = {
  async 'Redocly, recommended-strict'(source: string) {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
    return problems.map(({ ruleId, message, location: [at] }) => `${ruleId}: ${message} (${at?.pointer})`);
  },
  async 'Spectral, spectral:oas'(source: string) {
    const linter = new spectral.Spectral();
    linter.setRuleset(new spectral.Ruleset({ extends: [rulesets.oas] }));
    const problems = await linter.run(source);
    return problems.map(({ code, message, path }) => `${code}: ${message} (${path.join('/')})`);
  },
};

test.each(Object.entries(linters))('%s reports no errors and no warnings', async (_, lint) => {
  expect(await lint(JSON.stringify(document))).toEqual([]);
  // The linter works: it reports a missing part.
  expect(await lint(JSON.stringify({ ...document, servers: undefined }))).toHaveLength(1);
});
