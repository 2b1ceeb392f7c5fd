import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Presentation } from '#contract/docs.ts';
import type { Assets } from './guide.ts';

const scriptOptions = { loader: 'ts', format: 'iife', target: 'es2022', tsconfigRaw: {} } as const;

const require = createRequire(import.meta.url);
const viewer = dirname(require.resolve('swagger-ui-dist/package.json'));
const readViewer = (name: string): Buffer => readFileSync(join(viewer, name));
const readOwn = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');

/** The files of /docs: the first page, and the others by name. Their examples name the address of the service, if it is known. */
export function renderDocs(host: Presentation) {
  const [style, script, viewerStyle] = [readOwn('docs.css'), readOwn('browser/main.ts'), readViewerStyle()];
  const assets: Assets = {
    viewer: `swagger-ui-${versionOf('swagger-ui-dist')}`,
    viewerStyle: `swagger-ui-${toVersion(viewerStyle)}`,
    script: `docs-${toVersion(JSON.stringify([script, versionOf('esbuild'), scriptOptions]))}`,
    style: `docs-${toVersion(style)}`,
  };
  return {
    // Imported here, as esbuild below: most builds reuse the pages of the last release.
    async start() {
      const { renderPage } = await import('./guide.ts');
      return renderPage('/docs', host, assets);
    },
    async others() {
      const [{ paths, renderPage }, { transform }] = await Promise.all([import('./guide.ts'), import('esbuild')]);
      const others = paths.filter((path) => path !== '/docs');
      return {
        ...Object.fromEntries(others.map((path) => [path.replace('/docs/', ''), renderPage(path, host, assets)])),
        [`${assets.style}.css`]: style,
        [`${assets.script}.js`]: (await transform(script, scriptOptions)).code,
        [`${assets.viewerStyle}.css`]: viewerStyle,
        [`${assets.viewer}.js`]: readViewer('swagger-ui-bundle.js'),
        // What the licence of the viewer, and those of its parts, ask to keep with it.
        [`${assets.viewer}.txt`]: ['NOTICE', 'LICENSE', 'swagger-ui-bundle.js.LICENSE.txt'].map(readViewer).join('\n'),
      };
    },
  };
}

const toVersion = (text: string): string => hash('sha256', text).slice(0, 16);

function versionOf(name: string): string {
  return (require(`${name}/package.json`) as { version: string }).version;
}

/** In a layer, so that the style of the page applies whatever the selectors of the viewer are. */
function readViewerStyle(): string {
  return `@layer viewer {\n${readViewer('swagger-ui.css').toString()}\n}\n`;
}
