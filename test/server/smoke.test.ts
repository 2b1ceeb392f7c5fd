import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';

test('the blog list is served', async () => {
  const app = await createTestApp();
  const response = await app.request('/v1/blog/list');
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject([{ title: 'Second' }, { title: 'First' }]);
});
