import { expect, test } from 'vitest';
import { listSettings } from '../../server/env.ts';

const byName = listSettings().toSorted((a, b) => (a.name < b.name ? -1 : 1));
type Name = (typeof byName)[number]['name'];

/** Settings in the order of an operator's setup; settings without a group come last. */
const groups: Record<string, readonly Name[]> = {
  'Set in each installation': [
    'PUBLIC_URL',
    'SITE_URL',
    'DATABASE_URL',
    'DATA_DIR',
    'DIST_DIR',
    'TRUSTED_PROXIES',
    'PROVIDERS_FILE',
  ],
  'Common settings': [
    'CONTENT_DIR',
    'CATALOG_DIR',
    'SITE_NAME',
    'SUPPORT_URL',
    'HOST',
    'PORT',
    'METRICS_PORT',
    'CORS_ORIGINS',
    'CHAT_FEEDBACK_WEBHOOK_URL',
    'CHAT_FEEDBACK_WEBHOOK_KIND',
    'UPTIME_KUMA_URL',
    'UPTIME_KUMA_STATUS_PAGE',
    'DOMAIN_PRICES',
    'SHUTDOWN_DELAY_SECONDS',
    'LOG_LEVEL',
  ],
};
const grouped = new Set(Object.values(groups).flat());
const others = byName.map(({ name }) => name).filter((name) => !grouped.has(name));
const sections = Object.entries({ ...groups, 'Other settings': others }).map(([title, names]) => ({
  title,
  settings: names.map((name) => byName.find((setting) => setting.name === name)!),
}));

const head = `# Settings

Settings are environment variables, or lines of a file \`.env\` in the working directory. To read a value from a file, set
\`<NAME>_FILE\` to the path of the file instead. The server checks all settings at its start. If a setting is invalid, the
server prints every problem, but never a value, and does not start. A variable with a misspelt setting name causes a warning.
A value is one line without control characters.

This page and \`.env.example\` are generated from the program's settings by \`npx vitest run test/docs -u\`.
`;

test('docs/settings.md lists every setting with its default', async () => {
  const tables = sections.map(({ title, settings }) => {
    const rows = settings.map(({ name, preset, meaning }) => `| \`${name}\` | ${preset} | ${meaning} |\n`);
    return `\n## ${title}\n\n| setting | default | meaning |\n| --- | --- | --- |\n${rows.join('')}`;
  });
  await expect(head + tables.join('')).toMatchFileSnapshot('../../docs/settings.md');
});

test('.env.example has every setting with its default', async () => {
  const parts = sections.map(({ title, settings }) => {
    const lines = settings.map(({ name, preset, meaning }) => `# ${meaning.replaceAll('`', '')}\n#${name}=${preset}\n`);
    return `# --- ${title} ---\n\n${lines.join('\n')}`;
  });
  await expect(parts.join('\n')).toMatchFileSnapshot('../../.env.example');
});
