import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync, transformSync } from 'esbuild';

/** The compiled status widget. */
export interface StatusWidget {
  readonly script: string;
  /** Tells this version of the script from all others, in its URL. */
  readonly version: string;
  /** The hash by which a page makes sure that it runs this version (Subresource Integrity). */
  readonly integrity: string;
}

const folder = join(import.meta.dirname, 'widget');
let compiled: StatusWidget | undefined;

/** Compiles the widget into one classic script; only once in a process, as its source does not change meanwhile. */
export function compileStatusWidget(): StatusWidget {
  return (compiled ??= compile());
}

function compile(): StatusWidget {
  const css = transformSync(readFileSync(join(folder, 'style.css'), 'utf8'), { loader: 'css', minify: true });
  const { outputFiles } = buildSync({
    absWorkingDir: folder,
    entryPoints: ['main.ts'],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2020',
    // In ASCII it means the same whatever the encoding of the page.
    charset: 'ascii',
    define: { STYLE: JSON.stringify(css.code.trim()) },
    // No setting of a folder above may change the bytes.
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  const script = outputFiles[0]!.text;
  return {
    script,
    version: hash('sha256', script).slice(0, 16),
    integrity: `sha384-${hash('sha384', script, 'base64')}`,
  };
}
