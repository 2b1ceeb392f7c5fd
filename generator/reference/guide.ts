import { readFileSync } from 'node:fs';
import { allows, scopes } from '#contract/api-keys.ts';
import { closeCodes, streamEvents, streamLimits } from '#contract/console-stream.ts';
import type { EventRow } from '#contract/console-stream.ts';
import { bodyLimits, keyAccess, rateLimits } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { problems, renderProblem } from '#contract/problem.ts';
import { html } from '../markdown/markup.ts';
import { renderAll } from '../markdown/render.ts';
import { addressOf, titleOf, toRate } from './operations.ts';

/** The titles of the pages of the guide, which are headings in docs/customers.md except for the first page. */
export const titles = {
  '/docs': 'Start',
  '/docs/scopes.html': 'Keys and scopes',
  '/docs/servers.html': 'States and actions',
  '/docs/clients.html': 'Clients in your language',
  '/docs/streams.html': 'Console streams',
  '/docs/agents.html': 'For agents',
  '/docs/errors.html': 'Errors',
  '/docs/limits.html': 'Limits',
  '/docs/changes.html': 'Changes',
} as const;
export type PagePath = keyof typeof titles;

const guide = readFileSync(new URL('../../docs/customers.md', import.meta.url), 'utf8');

/**
 * Renders a section of docs/customers.md, with headings one level higher, the address of the service in examples, and a
 * section for each mark like `%console%`, which a script fills; once per process. Throws if docs/customers.md lacks the
 * section.
 */
export const renderGuide = (path: PagePath, address: string): string =>
  (rendered[`${address}${path}`] ??= renderSection(path, address));
const rendered: Record<string, string> = {};

function renderSection(path: PagePath, address: string): string {
  const [first = '', ...sections] = guide.split(/^## /m);
  const section = sections.find((text) => text.startsWith(`${titles[path]}\n`));
  const source = path === '/docs' ? first.replace(/^# .*/, '') : `# ${section}`;
  const markdown = source
    .replaceAll(/^###/gm, '##')
    .replaceAll(/^<!-- (\w+) -->$/gm, (_, name: keyof typeof tables) => tables[name]())
    .replaceAll(request, (_, ...parts) => toCalls(parts))
    .replaceAll('https://api.example.com', address);
  const [page] = renderAll([{ markdown, sitePath: path }]);
  if (!page?.html) throw new Error(`${path}: ${page?.findings[0]?.message}`);
  return page.html
    .replace('<p>%tiles%</p>', tiles.markup)
    .replaceAll(/<p>%([\w-]+)%<\/p>/g, '<section id="$1"></section>');
}

const tiles = html`<p class="tiles">
  <a href="${addressOf('Keys')}"><strong>Your key</strong> and its permissions</a>
  <a href="${addressOf('Game servers')}"><strong>Game servers</strong>: start, stop, console, log</a>
  <a href="${addressOf('VPS')}"><strong>VPS</strong>: state and power</a>
  <a href="/docs/streams.html#live-console"><strong>Live console</strong> in this page</a>
</p>`;

/** A code block with a request: method, path, header and body. */
const request = /^```http\n(\S+) (\S+)\n(?:([\w-]+): (.*)\n)?(?:\n(.+)\n)?```$/gm;

/** Renders a request for each client. The first page defines `api`, `server`, `vps` and `call`. */
function toCalls([method, path, name, value, body]: (string | undefined)[]): string {
  const toPath = (format: string): string =>
    path!.replace('{server_id}', format.replace('_', 'server')).replace('{id}', format.replace('_', 'vps'));
  const headers = name === undefined ? '' : JSON.stringify({ [name]: value });
  const curl = [
    'curl -H @.key',
    method === 'GET' ? '' : ` -X ${method}`,
    name === undefined ? '' : ` -H '${name}: ${value}'`,
    body === undefined ? '' : ` -d '${body}'`,
    ` "$api${toPath('$_')}"`,
  ].join('');
  const options = [headers && `headers: ${headers}`, body === undefined ? '' : `body: '${body}'`].filter(Boolean);
  const typescript = `'${method}', \`${toPath('${_}')}\`${options.length > 0 ? `, { ${options.join(', ')} }` : ''}`;
  const python = [`"${method}"`, `f"${toPath('{_}')}"`, headers, body === undefined ? '' : `body=b'${body}'`];
  const given = name === undefined ? '' : ` @{ '${name}' = '${value}' }`;
  const powershell = body === undefined ? given : `${given || ' @{}'} '${body}'`;
  return [
    toFence('sh', 'curl', curl),
    toFence('ts', 'TypeScript', `console.log(await call(${typescript}));`),
    toFence('python', 'Python', `print(call(${python.filter(Boolean).join(', ')}))`),
    toFence('powershell', 'PowerShell', `Call ${method} "${toPath('${_}')}"${powershell}`),
  ].join('\n\n');
}

const toFence = (language: string, title: string, code: string): string =>
  `\`\`\`${language} title="${title}"\n${code}\n\`\`\``;

/** The tables of the contract, by the name of the comment in docs/customers.md that each replaces. */
const tables = {
  scopes() {
    const others = Object.entries(keyAccess).map(([kind, needs]) => [needs, listOperations((one) => one === kind)]);
    const rows = scopes.map((scope) => [
      `\`${scope}\``,
      listOperations((access) => typeof access === 'object' && allows([scope], access.scope)),
    ]);
    return toTable(['Scope', 'Operations'], [...rows, ...others]);
  },
  events() {
    const events = Object.entries<EventRow>(streamEvents);
    const toEvents = (side: EventRow['from'], title: string): string =>
      `### ${title}\n\n${toTable(['Event', 'Meaning'], events.filter(([, { from }]) => from === side).map(toEventRow))}`;
    return `${toEvents('client', 'Events that you send')}\n\n${toEvents('service', 'Events that you receive')}`;
  },
  codes: () =>
    toTable(
      ['Code', 'Meaning', 'What to do'],
      Object.values(closeCodes).map(({ code, meaning, client }) => [String(code), escaped(meaning), escaped(client)]),
    ),
  example: () => `\`\`\`json\n${renderProblem('json', 'unauthorized').trim()}\n\`\`\``,
  errors() {
    const sorted = Object.entries(problems).toSorted(([, a], [, b]) => a.status - b.status);
    const rows = sorted.map(([code, { status, message, advice }]) => {
      return [`\`${code}\``, String(status), escaped(`${message}. ${advice}`)];
    });
    return toTable(['Code', 'Status', 'Meaning, and what to do'], rows);
  },
  rates: () =>
    toTable(
      ['Requests', 'Burst', 'Then', 'Counted for'],
      Object.values(rateLimits).map((rate) => [rate.requests, String(rate.burst), toRate(rate), rate.countedFor]),
    ),
  tiles: () => '%tiles%',
  console: () => '%console%',
  limits: () => '%own-limits%',
  streams: () => `A key may have ${streamLimits.streamsOfKey.toLocaleString('en')} console streams.`,
  bodies() {
    const sizes = Object.entries({ 'A vote on an article': bodyLimits.feedback, 'Any other body': bodyLimits.others });
    const rows = sizes.map(([body, bytes]) => [body, `${bytes / 1024} KiB`]);
    return toTable(['Body', 'At most'], rows);
  },
};

function listOperations(isOpen: (access: NonNullable<Endpoint['access']>) => boolean): string {
  return Object.entries<Endpoint>(endpoints)
    .filter(([, { access }]) => access && isOpen(access))
    .map(([operation, { method, path, summary, tag }]) => {
      return `[\`${method} ${path}\`](${addressOf(tag)}#${operation}) ${escaped(titleOf({ summary }))}`;
    })
    .join('<br>');
}

function toEventRow([event, { description: meaning, scope, args }]: [string, EventRow]): string[] {
  const names = args.map(({ name, optional }) => ` \\[${name}${optional ? '?' : ''}\\]`).join('');
  const details = args.flatMap(({ name, description: text, optional, values = {}, json }) => [
    `**${name}**${optional ? ', optional' : ''}: ${escaped(text)}`,
    ...Object.entries(values).map(([value, of]) => `\`${value}\`: ${escaped(of)}`),
    ...Object.entries(json?.shape ?? {}).map(([field, of]) => `\`${field}\`: ${escaped(of.description)}`),
  ]);
  const first = `${escaped(meaning)}${scope === null ? '' : ` Requires the scope \`${scope}\`.`}`;
  const code = `\`${JSON.stringify({ event, args: args.map(({ example }) => example) })}\``;
  return [`\`${event}\`${names}`, [first, ...details, code].join('<br>')];
}

const toTable = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
  [columns, columns.map(() => '-'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const escaped = (text: string): string => text.replaceAll(/[\\`*_[\]<|]/g, String.raw`\$&`);
