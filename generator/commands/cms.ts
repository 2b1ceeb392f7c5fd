import { cpSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { sources } from '#contract/endpoints.ts';
import { MediaPath } from '#contract/primitives.ts';
import { groupContent, toTitleCase } from '../articles/content.ts';
import { CommandError, requireOptions } from '../common/command-line.ts';
import { html, renderDocument } from '../markdown/markup.ts';
import { createDiagnostics } from '../source/diagnostics.ts';
import { displayPath, findRepository, loadFolder } from '../source/load.ts';
import { readAuthors, removedFile } from '../source/yaml.ts';
import { createNamed, resolveFolder } from './settings.ts';
import type { CmsFlags } from './settings.ts';

/** A JSON Schema, reduced to the keywords that the forms use. */
interface Schema extends Readonly<Partial<Record<'type' | 'format' | 'pattern' | 'description', string>>> {
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

const schemaOf = (name: keyof typeof sources) => z.toJSONSchema(sources[name], { io: 'input' }) as Schema;

const apiPaths = { github: '/api/v3', gitlab: '/api/v4', gitea: '/api/v1' };

/** Writes a folder with Sveltia CMS and its configuration. */
export function runCms(flags: CmsFlags): void {
  const { out } = requireOptions({ out: flags.out });
  const { backend: name = 'github', branch = name === 'gitea' ? 'editors' : 'main', signIn } = flags;
  const [, host, repo] = /^(?:(https:\/\/[^/]+)\/)?([\w.-]+(?:\/[\w.-]+)+)$/.exec(flags.repository ?? '') ?? [];
  if (flags.backend && !repo) throw new CommandError('--repository must be OWNER/NAME or its https address');
  const application = { app_id: signIn, auth_type: name === 'gitlab' ? 'pkce' : undefined };
  const backend = {
    name,
    // Without a repository, the CMS opens a folder of this machine.
    repo: repo ?? 'local/folder',
    branch,
    ...(host && { base_url: host, api_root: host + apiPaths[name] }),
    ...(!signIn ? { auth_methods: ['token'] } : name === 'github' ? { base_url: signIn } : application),
  };
  // Each draft is a pull request, but not for Gitea, where the CMS has no such mode.
  const workflow = repo && name !== 'gitea' && { publish_mode: 'editorial_workflow' };
  const forms = deriveForms(resolveFolder('CONTENT_DIR'), resolveFolder('CATALOG_DIR'));
  const [cms, font] = [find('@sveltia/cms'), find('@fontsource/material-symbols-outlined/package.json')];
  const names = readdirSync(createNamed(out, '--out'));
  if (names.length > 0 && !names.includes('sveltia-cms.js')) {
    throw new CommandError('--out: the folder has other files; name an empty folder or an earlier one of this command');
  }
  cpSync(join(cms, '../../dist'), out, { recursive: true, filter: (file) => !/\.(?:map|mjs)$/.test(file) });
  for (const file of ['400.css', 'files/material-symbols-outlined-latin-400-normal.woff2'])
    cpSync(join(font, '..', file), join(out, file));
  writeFileSync(join(out, 'config.yml'), stringify({ backend, ...workflow, ...forms }));
  const api = host ?? (name === 'github' ? 'https://api.github.com' : `https://${name}.com`);
  writeFileSync(join(out, 'index.html'), renderPage(repo ? api : ''));
  process.stdout.write(`${displayPath(out)}\n`);
}

function find(file: string): string {
  try {
    return createRequire(import.meta.url).resolve(file);
  } catch {
    throw new CommandError('the CMS is not installed; run "npm ci" without --omit=dev');
  }
}

const yesOrNo = Object.entries({ Yes: true, No: false }).map(([label, value]) => ({ label, value }));

/** Derives the forms of all source files, except those with free keys. */
function deriveForms(content: string, catalog: string) {
  const root = findRepository(content);
  const toPath = (...parts: string[]): string => relative(root, join(...parts)).replaceAll(sep, '/');
  if (toPath(catalog).startsWith('..')) throw new CommandError('CATALOG_DIR is not in the repository of CONTENT_DIR');
  const media = toPath(content, 'media');
  const covers = { media_folder: `/${media}/covers`, public_folder: '/media/covers', choose_url: false };
  const diagnostics = createDiagnostics({});
  const folder = loadFolder(content, diagnostics);
  const authors = Object.keys(readAuthors(folder, diagnostics)?.value ?? {});

  const toField = (name: string, schema: Schema, required = true): Record<string, unknown> => {
    const { type, format, pattern, description, items } = schema;
    // Optional fields have no default: `draft: true` would unpublish each edited article.
    const field = { name, label: toTitleCase(name.replaceAll(/_|(?=[A-Z])/g, '-')), required, hint: description };
    if (items?.properties) return { ...field, widget: 'list', fields: toFields(items) };
    if (items) return { ...field, widget: 'list', field: toField('value', items) };
    // The CMS writes an untouched checkbox as `false`, and leaves out an empty choice.
    if (type === 'boolean' && !required) return { ...field, widget: 'select', options: yesOrNo };
    if (type === 'boolean') return { ...field, widget: 'boolean' };
    if (type === 'integer') return { ...field, widget: 'number', value_type: 'int' };
    if (type === 'number') return { ...field, widget: 'number', value_type: 'float', step: 0.01 };
    if (format === 'date') return { ...field, widget: 'datetime', type: 'date', format: 'YYYY-MM-DD' };
    if (name === 'author' && authors.length > 0) return { ...field, widget: 'select', options: authors };
    if (pattern === z.toJSONSchema(MediaPath).pattern) return { ...field, widget: 'image', ...covers };
    return { ...field, widget: 'string', pattern: pattern && [pattern, description ?? `Must match ${pattern}`] };
  };
  // The folder of an article says its category.
  const toFields = ({ properties: { category: _category, ...properties } = {}, required = [] }: Schema) =>
    Object.entries(properties).map(([name, schema]) => toField(name, schema, required.includes(name)));

  const { categories } = groupContent(folder, diagnostics);
  const articles = categories.map(({ collection, slug, name = toTitleCase(slug) }) => {
    const kind = collection.folder as 'blog' | 'knowledgebase';
    // The rich-text mode would rewrite alerts, tables and footnotes.
    const text = { name: 'body', label: 'Text', widget: 'markdown', modes: ['raw'] };
    const label = `${name} (${kind === 'blog' ? 'blog' : 'knowledge base'})`;
    const fields = [...toFields(schemaOf(kind)), text];
    return { name: `${kind}-${slug}`, label, folder: toPath(content, kind, slug), fields };
  });
  const plans = ['services', 'games'].map((name) => {
    const form = { extension: 'yaml', identifier_field: 'name', fields: toFields(schemaOf('plans')) };
    return { name, label: toTitleCase(name), folder: toPath(catalog, name), ...form };
  });
  const removed = { ...toField('removed', schemaOf('removed'), false), root: true };
  const files = [
    { name: 'status', label: 'Status', file: toPath(catalog, 'status.yaml'), fields: toFields(schemaOf('status')) },
    { name: 'removed', label: 'Removed articles', file: toPath(content, removedFile), fields: [removed] },
  ];
  return {
    media_folder: media,
    public_folder: '/media',
    media_libraries: { default: { config: { slugify_filename: true } }, stock_assets: false },
    slug: { encoding: 'ascii', clean_accents: true },
    output: { omit_empty_optional_fields: true },
    // The preview of the pull request shows articles as readers see them.
    editor: { preview: false },
    collections: [...articles, ...plans, { name: 'site', label: 'Site', files }],
  };
}

/** Renders the page of the CMS, which may connect to the API of the git host alone. */
function renderPage(api: string): string {
  const policy =
    `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; media-src blob:; ` +
    `frame-src blob:; img-src 'self' blob: data:; connect-src 'self' blob: data: ${api}; base-uri 'none'`;
  const head = html`<meta name="robots" content="noindex" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <link rel="stylesheet" href="400.css" />
    <script src="sveltia-cms.js" defer></script>`;
  return renderDocument({ title: 'Content', head, body: html`<body></body>` });
}
