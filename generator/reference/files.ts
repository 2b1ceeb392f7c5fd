import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileOf } from '#contract/resources.ts';
import { renderErrors } from './errors.ts';
import { renderLimits } from './limits.ts';
import { renderScopes } from './scopes.ts';
import { renderStart } from './start.ts';

/** A file of /docs. */
interface DocsFile {
  /** Its path in the release, which is known before its bytes are. */
  readonly file: string;
  readonly read: () => string | Buffer | Promise<string>;
}

/** The names of the scripts and style sheets, which have their version in them. */
export interface Assets {
  /** Swagger UI: script, style sheet and licences. */
  readonly viewer: string;
  readonly script: string;
  readonly style: string;
}

const { resolve } = createRequire(import.meta.url);
const readViewer = (name: string): Buffer => readFileSync(resolve(`swagger-ui-dist/${name}`));
const readOwn = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');

/** Lists the files of /docs. They depend on the generator alone, so that most builds link those of the last release. */
export function listDocsFiles(): DocsFile[] {
  const { version } = JSON.parse(readViewer('package.json').toString()) as { version: string };
  const [style, script] = [readOwn('docs.css'), readOwn('browser/main.ts')];
  const assets: Assets = {
    viewer: `swagger-ui-${version}`,
    // The version of a script is that of its source: most builds do not compile it.
    script: `docs-${hash('sha256', script).slice(0, 16)}`,
    style: `docs-${hash('sha256', style).slice(0, 16)}`,
  };
  const page = (name: string, read: () => string): DocsFile => ({ file: fileOf('docsPage', { page: name }), read });
  return [
    { file: fileOf('docs', {}), read: () => renderStart(assets) },
    page('scopes', () => renderScopes(assets)),
    page('errors', () => renderErrors(assets)),
    page('limits', () => renderLimits(assets)),
    { file: fileOf('docsStyle', { asset: assets.style }), read: () => style },
    { file: fileOf('docsScript', { asset: assets.script }), read: () => compileScript(script) },
    { file: fileOf('docsStyle', { asset: assets.viewer }), read: () => readViewer('swagger-ui.css') },
    { file: fileOf('docsScript', { asset: assets.viewer }), read: () => readViewer('swagger-ui-bundle.js') },
    { file: fileOf('docsLicences', { asset: assets.viewer }), read: readLicences },
  ];
}

/** What the licence of the viewer, and those of its parts, ask to keep with it. */
function readLicences(): string {
  return ['NOTICE', 'LICENSE', 'swagger-ui-bundle.js.LICENSE.txt'].map((name) => readViewer(name)).join('\n');
}

async function compileScript(source: string): Promise<string> {
  // Imported here: most builds link the script of the last release.
  const { transform } = await import('esbuild');
  const { code } = await transform(source, { loader: 'ts', format: 'iife', target: 'es2022', tsconfigRaw: {} });
  return code;
}
