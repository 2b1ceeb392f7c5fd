import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileOf } from '#contract/resources.ts';
import { renderErrors } from './errors.ts';
import { renderLimits } from './limits.ts';
import type { Assets } from './page.ts';
import { renderScopes } from './scopes.ts';
import { renderStart } from './start.ts';
import { renderStreams } from './streams.ts';

const scriptOptions = { loader: 'ts', format: 'iife', target: 'es2022', tsconfigRaw: {} } as const;

/** A file of /docs. */
interface DocsFile {
  /** Its path in the release, which is known before its bytes are. */
  readonly file: string;
  readonly read: () => string | Buffer | Promise<string>;
}

const require = createRequire(import.meta.url);
const viewer = dirname(require.resolve('swagger-ui-dist/package.json'));
const readViewer = (name: string): Buffer => readFileSync(join(viewer, name));
const readOwn = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');

/** Lists the files of /docs. They depend on the generator alone, so that most builds link those of the last release. */
export function listDocsFiles(): DocsFile[] {
  const [style, script, viewerStyle] = [readOwn('docs.css'), readOwn('browser/main.ts'), readViewerStyle()];
  const assets: Assets = {
    viewer: `swagger-ui-${versionOf('swagger-ui-dist')}`,
    viewerStyle: `swagger-ui-${toVersion(viewerStyle)}`,
    // Not of the compiled script: most builds do not compile it.
    script: `docs-${toVersion(JSON.stringify([script, versionOf('esbuild'), scriptOptions]))}`,
    style: `docs-${toVersion(style)}`,
  };
  return [
    { file: fileOf('docs', {}), read: () => renderStart(assets) },
    file('scopes.html', () => renderScopes(assets)),
    file('streams.html', () => renderStreams(assets)),
    file('errors.html', () => renderErrors(assets)),
    file('limits.html', () => renderLimits(assets)),
    file(`${assets.style}.css`, () => style),
    file(`${assets.script}.js`, () => compileScript(script)),
    file(`${assets.viewerStyle}.css`, () => viewerStyle),
    file(`${assets.viewer}.js`, () => readViewer('swagger-ui-bundle.js')),
    file(`${assets.viewer}.txt`, readLicences),
  ];
}

const file = (path: string, read: DocsFile['read']): DocsFile => ({ file: fileOf('docsFile', { path }), read });

const toVersion = (text: string): string => hash('sha256', text).slice(0, 16);

function versionOf(name: string): string {
  return (require(`${name}/package.json`) as { version: string }).version;
}

/** In a layer, so that the style of the page applies whatever the selectors of the viewer are. */
function readViewerStyle(): string {
  return `@layer viewer {\n${readViewer('swagger-ui.css').toString()}\n}\n`;
}

/** What the licence of the viewer, and those of its parts, ask to keep with it. */
function readLicences(): string {
  return ['NOTICE', 'LICENSE', 'swagger-ui-bundle.js.LICENSE.txt'].map((name) => readViewer(name)).join('\n');
}

async function compileScript(source: string): Promise<string> {
  // Imported here: most builds link the script of the last release.
  const { transform } = await import('esbuild');
  const { code } = await transform(source, scriptOptions);
  return code;
}
