// node compress.ts RELEASE OUT: only compresses the compressible files of a release.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const [release, out] = process.argv.slice(2) as [string, string];
for (const compressed of globSync('**/*.gz', { cwd: release })) {
  const path = compressed.slice(0, -'.gz'.length);
  const bytes = readFileSync(join(release, path));
  const file = join(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 6 }));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 5,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
}
