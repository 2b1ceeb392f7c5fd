import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { providerTypes } from '../../server/hosting/providers.ts';

const page = '../../docs/reference.md';

test('docs/reference.md lists every type of provider with its refs and credentials', async () => {
  const types = Object.entries(providerTypes).map(([type, { refs, secrets }]) => {
    const servers = 'kind' in refs ? { game: 'game servers', vps: 'VPS' }[refs.kind] : 'both';
    return [`\`${type}\``, servers, refs.meaning, secrets.map((name) => `\`${name}\``).join(', ')];
  });
  const rows = [['type', 'servers', '`--ref`', 'credentials'], ...types];
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const lines = rows.map((row) => `| ${row.map((text, at) => text.padEnd(widths[at]!)).join(' | ')} |`);
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  const text = readFileSync(new URL(page, import.meta.url), 'utf8');
  const expected = text.replace(/^\| type +\| servers +\|.*\n(?:\|.*\n)+/m, `${lines.join('\n')}\n`);
  await expect(expected).toMatchFileSnapshot(page);
});
