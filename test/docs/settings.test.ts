import { expect, test } from 'vitest';
import { listSettings } from '../../server/env.ts';

const settings = listSettings().toSorted((a, b) => (a.name < b.name ? -1 : 1));
const head = `# Settings

Settings are environment variables, or lines of a file \`.env\` in the working directory. Each may be given as \`<NAME>_FILE\`
instead: the path of a file that holds the value. The server checks all settings at its start. If one is wrong, it names every
problem, never a value, and does not start. A variable whose name only looks like one of these is warned of. A value is one line
without control characters.

This page and \`.env.example\` are made from \`server/env.ts\` by \`npx vitest run test/docs -u\`.

| setting | default | meaning |
| --- | --- | --- |
`;

test('docs/settings.md lists every setting with its default', async () => {
  const rows = settings.map(({ name, preset, meaning }) => `| \`${name}\` | ${preset} | ${meaning} |\n`);
  await expect(head + rows.join('')).toMatchFileSnapshot('../../docs/settings.md');
});

test('.env.example has every setting with its default', async () => {
  const lines = settings.map(({ name, preset, meaning }) => `# ${meaning.replaceAll('`', '')}\n#${name}=${preset}\n`);
  await expect(lines.join('\n')).toMatchFileSnapshot('../../.env.example');
});
