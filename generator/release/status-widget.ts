import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, transform } from 'esbuild';
import { fillTemplate, staticFiles } from '#contract/endpoints.ts';
import type { StatusWidget } from '#contract/status.ts';

const folder = join(import.meta.dirname, '../widget');
let compiled: ReturnType<typeof compile> | undefined;

/** Compiles the widget into one classic script with a version, which identifies it in its URL, once per process. */
export function compileStatusWidget(): ReturnType<typeof compile> {
  return (compiled ??= compile());
}

async function compile() {
  const css = await transform(readFileSync(join(folder, 'style.css'), 'utf8'), { loader: 'css', minify: true });
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ['main.ts'],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2020',
    // ASCII is independent of the page's encoding.
    charset: 'ascii',
    define: { STYLE: JSON.stringify(css.code.trim()) },
    // Ignores tsconfig.json files, which could change the bytes.
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  const script = outputFiles[0]!.text;
  const version = hash('sha256', script).slice(0, 16);
  const path = fillTemplate(staticFiles.getStatusWidgetVersion.path, { version });
  const embed: StatusWidget = { path, integrity: `sha384-${hash('sha384', script, 'base64')}` };
  return { script, version, embed };
}
