import { expect, test } from 'vitest';
import { runGenerator } from '../helpers/project.ts';

test('the sample content and catalog of this repository have no problems', async () => {
  const { status, stdout, stderr } = await runGenerator(['check']);
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  expect(stderr).toMatch(/^ok: \d+ articles, .*0 warnings, \d+\.\d s\n$/);
});
