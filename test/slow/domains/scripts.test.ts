import { expect, test } from 'vitest';
import { renderScripts } from '../../domains/idna-characters.ts';

test('the table of scripts is that of this version of Node; vitest -u writes it', async () => {
  await expect(renderScripts()).toMatchFileSnapshot('../../../server/domains/scripts.json');
});
