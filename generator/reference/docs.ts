import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { transform } from 'esbuild';
import { allows, scopes } from '#contract/api-keys.ts';
import type { Scope } from '#contract/api-keys.ts';
import { closeCodes, streamEvents, streamLimits } from '#contract/console-stream.ts';
import type { EventRow } from '#contract/console-stream.ts';
import { head as description, toInfo } from '#contract/docs.ts';
import type { Presentation } from '#contract/docs.ts';
import { bodyLimits, rateLimits } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { problems, renderProblem } from '#contract/problem.ts';
import { html, renderDocument, trusted } from '../markdown/markup.ts';
import type { Markup } from '../markdown/markup.ts';
import { renderAll } from '../markdown/render.ts';

const require = createRequire(import.meta.url);
const viewerFolder = dirname(require.resolve('swagger-ui-dist/package.json'));
const readViewer = (name: string): string => readFileSync(join(viewerFolder, name), 'utf8');
const readOwn = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');
const versionOf = (name: string): string => (require(`${name}/package.json`) as { version: string }).version;
const toVersion = (text: string): string => hash('sha256', text).slice(0, 16);

const scriptOptions = { loader: 'ts', format: 'iife', target: 'es2022', tsconfigRaw: {} } as const;
const texts = {
  style: readOwn('docs.css'),
  script: readOwn('browser/main.ts'),
  // In a layer, because the style of the page must win over any selector of the viewer.
  viewerStyle: `@layer viewer {\n${readViewer('swagger-ui.css')}\n}\n`,
};

/** The names of scripts and style sheets, each with a version. */
const assets = {
  viewer: `swagger-ui-${versionOf('swagger-ui-dist')}`,
  viewerStyle: `swagger-ui-${toVersion(texts.viewerStyle)}`,
  script: `docs-${toVersion(JSON.stringify([texts.script, versionOf('esbuild'), scriptOptions]))}`,
  style: `docs-${toVersion(texts.style)}`,
};

/** The titles of the pages of /docs, which are headings in docs/customers.md except for the first page. */
const pages = {
  '/docs': 'Start and reference',
  '/docs/scopes.html': 'Keys and scopes',
  '/docs/servers.html': 'States and actions',
  '/docs/clients.html': 'Clients in your language',
  '/docs/streams.html': 'Console streams',
  '/docs/agents.html': 'For agents',
  '/docs/errors.html': 'Errors',
  '/docs/limits.html': 'Limits',
  '/docs/changes.html': 'Changes',
} as const;
type PagePath = keyof typeof pages;

/** Renders the files of /docs by name, except for the first page. */
export async function renderDocsFiles(host: Presentation): Promise<Record<string, string>> {
  const others = (Object.keys(pages) as PagePath[]).filter((path) => path !== '/docs');
  return {
    ...Object.fromEntries(others.map((path) => [path.replace('/docs/', ''), renderPage(path, host)])),
    [`${assets.style}.css`]: texts.style,
    [`${assets.script}.js`]: (await transform(texts.script, scriptOptions)).code,
    [`${assets.viewerStyle}.css`]: texts.viewerStyle,
    [`${assets.viewer}.js`]: readViewer('swagger-ui-bundle.js'),
    // The licences of the viewer and its parts require these notices.
    [`${assets.viewer}.txt`]: ['NOTICE', 'LICENSE', 'swagger-ui-bundle.js.LICENSE.txt'].map(readViewer).join('\n'),
  };
}

/** The address of `npm start`; the script of each page replaces it with the address of the page. */
const localAddress = 'http://localhost:3000';
const guide = readFileSync(new URL('../../docs/customers.md', import.meta.url), 'utf8');

/**
 * Renders a page of /docs, with the address of the service in examples. Links start with a slash because the first page
 * is at /docs and at /docs/. Throws if docs/customers.md lacks the section.
 */
export function renderPage(path: PagePath, host: Presentation): string {
  const info = toInfo(host);
  const { viewer, viewerStyle, script, style } = assets;
  const isFirst = path === '/docs';
  const styles = isFirst ? [viewerStyle, style] : [style];
  const scripts = isFirst ? [viewer, script] : [script];
  const head = html`<link rel="stylesheet" href="/v1/article.css" />
    ${styles.map((name) => html`<link rel="stylesheet" href="/docs/${name}.css" />`)}
    ${scripts.map((name) => html`<script src="/docs/${name}.js" defer></script>`)}`;
  const text = html`<div class="markdown-body">${renderText(path, host.service ?? localAddress)}</div>`;
  const body = html`<body>
    <a class="skip" href="#main">Skip to the content</a>
    <header>
      <a class="name" href="/docs">${info.title}</a>
      <nav aria-label="Documentation">
        <ul>
          ${Object.entries(pages).map(([to, name]) =>
            to === path
              ? html`<li><a href="${to}" aria-current="page">${name}</a></li>`
              : html`<li><a href="${to}">${name}</a></li>`,
          )}
        </ul>
      </nav>
    </header>
    <main id="main">${isFirst ? renderFirst(info, text) : text}</main>
    <footer>
      <p>
        ${info.contact && html`<a href="${info.contact.url}">${info.contact.name}</a> ·`}
        <a href="/v1/openapi.json">OpenAPI document</a> (OpenAPI ${description.openapi}, API version ${info.version}) ·
        <a href="/docs/${viewer}.txt">Licences of the reference</a>
      </p>
    </footer>
  </body>`;
  return renderDocument({ title: isFirst ? info.title : `${pages[path]} - ${info.title}`, head, body });
}

function renderFirst(info: ReturnType<typeof toInfo>, text: Markup): Markup {
  return html`<h1>${info.title}</h1>
    <p>${info.description}</p>
    ${text}
    <h2 id="reference">Reference</h2>
    <div id="viewer">
      <p role="status">
        The reference is loading. It requires JavaScript; <a href="/v1/openapi.json">the OpenAPI document</a> has the
        same content.
      </p>
    </div>
    <dialog aria-labelledby="key-title">
      <form method="dialog">
        <h2 id="key-title">API key</h2>
        <p>This page sends the key with its requests, and forgets the key when you leave.</p>
        <label>Key <input type="password" autocomplete="off" spellcheck="false" required /></label>
        <label><input type="checkbox" /> Show it in curl lines</label>
        <p><button value="use">Use this key</button> <button value="" formnovalidate>Cancel</button></p>
      </form>
    </dialog>`;
}

/** Renders a section of docs/customers.md, with headings one level higher. */
function renderText(path: PagePath, address: string): Markup {
  const [first = '', ...sections] = guide.split(/^## /m);
  const section = sections.find((text) => text.startsWith(`${pages[path]}\n`));
  const source = path === '/docs' ? first.replace(/^# .*/, '') : `# ${section}`;
  const markdown = source
    .replaceAll(/^###/gm, '##')
    .replaceAll(/^<!-- (\w+) -->$/gm, (_, name: keyof typeof tables) => tables[name]())
    .replaceAll(request, (_, ...parts) => toCalls(parts))
    .replaceAll('https://api.example.com', address);
  const [rendered] = renderAll([{ markdown, sitePath: path }]);
  if (!rendered?.html) throw new Error(`${path}: ${rendered?.findings[0]?.message}`);
  return trusted(rendered.html);
}

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
    const listOf = (scope: Scope) => listOperations((access) => access !== 'any_key' && allows([scope], access.scope));
    const rows = scopes.map((scope) => [`\`${scope}\``, listOf(scope)]);
    return toTable(['Scope', 'Operations'], [...rows, ['any key', listOperations((access) => access === 'any_key')]]);
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
    const sorted = Object.entries(problems)
      .filter(([, { advice }]) => advice !== '')
      .toSorted(([, a], [, b]) => a.status - b.status);
    const rows = sorted.map(([code, { status, message, advice }]) => {
      return [`\`${code}\``, String(status), escaped(`${message}. ${advice}`)];
    });
    return toTable(['Code', 'Status', 'Meaning, and what to do'], rows);
  },
  rates: () =>
    toTable(
      ['Requests', 'Burst', 'Then', 'Counted for'],
      Object.values(rateLimits).map(({ requests, burst, refill, seconds, countedFor }) => [
        requests,
        String(burst),
        seconds === 1 ? `${refill} a second` : `${refill} in ${seconds} seconds`,
        countedFor,
      ]),
    ),
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
      const address = `/docs#/${encodeURIComponent(tag)}/${operation}`;
      return `[\`${method} ${path}\`](${address}) ${escaped(summary)}`;
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
