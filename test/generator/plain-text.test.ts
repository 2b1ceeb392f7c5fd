import { expect, test } from 'vitest';
import { toPlainText } from '../../generator/markdown/plain-text.ts';
import { publish } from './render.ts';

test.each([
  ['![How `<pre>` looks](/media/a.svg)\n\n## Second\n\nTwo.\n\n```\ncode\n```\n\nThree.\n', 'Second', 'Two. Three.'],
  ['One.\n\n```ts title="a</pre>b"\nsecret\n```\n\nThree.\n', undefined, 'One. Three.'],
])('brackets in an attribute are no tags: %j', async (markdown, heading, text) => {
  const { html } = await publish(markdown, { 'content/media/a.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n' });
  expect(toPlainText(html)).toEqual({ headings: heading === undefined ? [] : [heading], text });
});
