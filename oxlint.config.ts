import { dirname, relative } from 'node:path/posix';
import { defineConfig } from 'oxlint';
import type { OxlintOverride } from 'oxlint';

/** Imports of any file that is not for browsers and not in the contract. */
const common = 'node:* generator/contract/* generator/common/*';
/** Imports of every folder of the server. */
const server = `${common} zod lru-cache p-limit server/{events,lifecycle,log,lru,problem,settings,timeout,token-bucket,trace}.ts`;
/** Imports of an adapter for an outside service. */
const adapter = `${server} server/upstream/*`;
const feature = `${adapter} server/http/handle.ts server/http/stored.ts type:server/store/types.ts`;
/** Imports of the files that put the server together. */
const composition = `${server} h3 fastest-levenshtein package.json server/* server/*/* server/*/*/*`;

/**
 * The imports that each folder may have besides its own files. Whatever no line names is refused, so a new folder may
 * import only its own files. `type:` allows the types of one file. The line of a file replaces the line of its folder.
 */
const imports = {
  generator: `${common} zod esbuild generator/{articles,markdown,preview,reference,release,source}/*`,
  'generator/main.js': 'node:* generator/common/check-node.js generator/commands/*',
  'generator/contract': 'zod generator/contract/*',
  'generator/common': `${common} type:zod yaml @commander-js/extra-typings fastest-levenshtein`,
  'generator/source': `${common} type:zod yaml gray-matter fast-glob chokidar p-limit image-dimensions saxes
    @sindresorhus/slugify`,
  'generator/markdown': `${common} type:mdast unified remark-parse remark-gfm remark-rehype rehype-sanitize
    rehype-stringify generator/markdown/{lint,plugins}/*`,
  'generator/markdown/lint': `${common} type:hast type:mdast fastest-levenshtein generator/markdown/plugins/*`,
  'generator/markdown/plugins': `${common} type:hast type:mdast type:vfile rehype-raw rehype-sanitize lowlight
    hast-util-to-text github-slugger`,
  'generator/articles': `${common} zod minisearch fastest-levenshtein package.json generator/source/*
    generator/markdown/* generator/markdown/plugins/* type:generator/release/compress.ts
    type:generator/release/online.ts type:generator/release/publish.ts`,
  'generator/release': `${common} zod ofetch p-limit lru-cache`,
  'generator/widget': '',
  'generator/preview': `${common} esbuild generator/{markdown,source}/* type:generator/articles/article.ts
    type:generator/release/online.ts`,
  'generator/preview/browser': 'idiomorph',
  'generator/reference': `${common} esbuild generator/markdown/*`,
  'generator/reference/browser': 'minisearch generator/reference/code.ts examples/clients/browser/console.js',
  'generator/commands': `${common} yaml zod @commander-js/extra-typings generator/* generator/{articles,preview,release,source}/*
    generator/markdown/markup.ts`,

  server: `${server} pino sonic-boom package.json type:server/store/types.ts server/http/request.ts`,
  'server/main.js': 'node:* generator/common/check-node.js server/*',
  'server/{app,env,explain,routes,serve,start}.ts': composition,
  'server/mcp.ts': `${composition} @modelcontextprotocol/server minisearch`,
  'server/http': `${server} ipaddr.js listhen`,
  'server/upstream': `${server} ipaddr.js ofetch type:undici undici/lib/dispatcher/agent.js
    undici/lib/llhttp/llhttp_simd-wasm.js`,
  'server/releases': feature,
  'server/releases/serve.ts': `${feature} server/releases/* type:server/http/request.ts`,
  'server/domains': `${feature} idn-hostname tldts-icann server/domains/{lookup,prices}/*`,
  'server/domains/lookup': `${adapter} dns-packet type:server/domains/names.ts`,
  'server/domains/prices': `${adapter} server/domains/names.ts`,
  'server/status': feature,
  'server/feedback': feature,
  'server/feedback/chat.ts': adapter,
  'server/keys': feature,
  'server/operators': `${feature} server/http/request.ts server/hosting/providers.ts server/keys/*
    server/store/database.ts`,
  'server/hosting': `${feature} yaml server/keys/* server/hosting/{console,providers}/*
    server/hosting/providers/*/*`,
  'server/hosting/providers': adapter,
  'server/hosting/providers/{local,pterodactyl}': `${adapter} ws server/hosting/providers/*`,
  'server/hosting/console': `${feature} ws type:server/keys/authorize.ts type:server/hosting/providers/types.ts`,
  'server/hosting/console/upgrade.ts': `${feature} ws server/http/request.ts server/hosting/console/*
    server/hosting/routes.ts`,
  'server/hosting/demo': 'node:*',
  'server/store': `${server} pg server/upstream/poller.ts`,
  'server/doctor': `${server} server/{env,limits}.ts server/http/request.ts server/domains/{lookup,prices}/*
    server/{domains,hosting,keys,releases,status,store,upstream}/* type:server/hosting/providers/types.ts`,
  'server/doctor/{client,run,visit}.ts': `${common} ws zod p-limit server/upstream/* server/doctor/{client,run}.ts`,
  'server/metrics': `${server} @prometheus-io/client server/http/* server/upstream/client.ts server/store/{index,instance}.ts
    server/operators/changes.ts
    type:server/releases/service.ts type:server/hosting/console/relay.ts`,
  'server/commands': `${server} type:@commander-js/extra-typings server/{env,explain}.ts server/domains/prices/*
    server/http/request.ts
    server/{doctor,domains,hosting,keys,operators,releases,store,upstream}/*`,
};

/** Turns a line of the table into a rule about the addresses that the files write. */
function allowOnly([place, text]: readonly [string, string]): OxlintOverride {
  const isFile = /\.[jt]s$/.test(place);
  const folder = isFile ? dirname(place) : place;
  const targets = text.split(/\s+/).filter(Boolean);
  const types = targets.filter((target) => target.startsWith('type:')).map((target) => target.replace('type:', ''));
  const values = targets.filter((target) => !target.startsWith('type:'));
  const allowed = [...values, ...types].flatMap((target) => toPatterns(folder, target));
  const message = `The table in oxlint.config.ts does not let ${place} import this.`;
  return restrictImports(isFile ? place : `${place}/*`, {
    paths: types.flatMap((target) =>
      toPatterns(folder, target).map((name) => ({
        name,
        allowTypeImports: true,
        message: `${message} Its types only.`,
      })),
    ),
    patterns: [{ group: ['**', ...(isFile ? [] : ['!./*']), ...allowed.map((pattern) => `!${pattern}`)], message }],
  });
}

/** The addresses by which files of a folder import a target of the table. */
function toPatterns(folder: string, target: string): string[] {
  if (target === 'node:*') return [target, 'node:*/*'];
  if (!/^(?:examples|generator|server)\/|\.json$/.test(target)) return [target];
  const alias = target.replace(/^generator\/(?=contract|common)/, '#');
  if (alias !== target && folder.startsWith('server')) return [alias];
  const path = relative(folder, target);
  return [path.startsWith('.') ? path : `./${path}`, ...(alias === target ? [] : [alias])];
}

function restrictImports(files: string, restrictions: Readonly<Record<string, object[]>>): OxlintOverride {
  return { files: [files], rules: { 'no-restricted-imports': ['error', restrictions] } };
}

export default defineConfig({
  // Astro is not installed here.
  ignorePatterns: ['node_modules', 'dist', 'coverage', 'test/fixtures', 'examples/astro'],
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'promise', 'node', 'vitest'],
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    eqeqeq: 'error',
    'import/no-cycle': 'error',
    'import/no-default-export': 'error',
    'import/no-unassigned-import': ['error', { allow: ['#common/check-node.js'] }],
    'typescript/consistent-type-imports': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'typescript/only-throw-error': 'error',
    'node/no-process-env': 'error',
    'typescript/no-unsafe-type-assertion': 'off',
    'no-console': 'error',
    'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
    'no-unused-expressions': ['error', { allowTaggedTemplates: true }],
    'no-restricted-globals': [
      'error',
      { name: 'fetch', message: 'Call upstreams through server/upstream/actions.ts or reads.ts.' },
    ],
    'max-lines': ['error', { max: 500 }],
  },
  overrides: [
    restrictImports('{generator,server}/**', {
      patterns: [{ group: ['**', '!./*'], message: 'The table in oxlint.config.ts has no line for this folder.' }],
    }),
    ...Object.entries(imports).map(allowOnly),
    { files: ['generator/widget/**'], rules: { 'no-restricted-globals': 'off' } },
    {
      files: ['examples/**'],
      rules: { 'node/no-process-env': 'off', 'no-console': 'off', 'no-restricted-globals': 'off' },
    },
    restrictImports('examples/**', {
      patterns: [
        {
          group: ['**', '!node:*', '!node:*/*', '!minisearch', '!./*', '!./browser/*'],
          allowTypeImports: true,
          message: 'An example is copied as it is, so it may import only types of this project.',
        },
      ],
    }),
    {
      files: [
        'server/serve.ts',
        'server/commands/main.js',
        'generator/commands/settings.ts',
        'generator/commands/dev.ts',
      ],
      rules: { 'node/no-process-env': 'off' },
    },
    {
      files: ['test/**'],
      rules: {
        'no-await-in-loop': 'off',
        'node/no-process-env': 'off',
        'no-console': 'off',
        'no-restricted-globals': 'off',
        'unicorn/consistent-function-scoping': 'off',
        'vitest/expect-expect': ['error', { assertFunctionNames: ['expect', 'expect[A-Z]*'] }],
        'vitest/valid-expect': ['error', { maxArgs: 2 }],
        'vitest/no-conditional-expect': 'off',
        'max-lines': 'off',
      },
    },
    { files: ['generator/contract/**'], rules: { 'max-lines': 'off' } },
    {
      files: ['*.config.ts', 'test/reporter.ts', 'examples/site/scripts/minisearch.d.ts'],
      rules: { 'import/no-default-export': 'off' },
    },
  ],
});
