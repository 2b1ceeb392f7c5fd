import { expect, test } from 'vitest';
import { listSettings } from '../../server/env.ts';

const byName = listSettings().toSorted((a, b) => (a.name < b.name ? -1 : 1));
type Name = (typeof byName)[number]['name'];

/** Settings in the order of an operator's setup; settings without a group come last. */
const groups: Record<string, readonly Name[]> = {
  'To be set by each installation': [
    'PUBLIC_URL',
    'SITE_URL',
    'DATABASE_URL',
    'DATA_DIR',
    'DIST_DIR',
    'TRUSTED_PROXIES',
    'PROVIDERS_FILE',
  ],
  'Set by many': [
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
const sections = Object.entries({ ...groups, 'All others': others }).map(([title, names]) => ({
  title,
  settings: names.map((name) => byName.find((setting) => setting.name === name)!),
}));

const head = `# Settings

Settings are environment variables, or lines of a file \`.env\` in the working directory. Each may be given as \`<NAME>_FILE\`
instead: the path of a file that holds the value. The server checks all settings at its start. If one is wrong, it names every
problem, never a value, and does not start. A variable whose name only looks like one of these is warned of. A value is one line
without control characters.

This page and \`.env.example\` are made from \`server/env.ts\` by \`npx vitest run test/docs -u\`.
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
