import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Article } from './articles/article.ts';
import { openMemo } from './articles/memo.ts';
import { CommandError } from './common/command-line.ts';
import { parseManifest } from './common/manifest.ts';
import { compile } from './compile.ts';
import type { BuildOptions } from './compile.ts';
import { createRenderer } from './markdown/renderer.ts';
import { renderFolder } from './preview/pages.ts';
import { compressors } from './release/compress.ts';
import { readOnline } from './release/online.ts';
import { createReleaseStage } from './release/publish.ts';
import { compareText, createDiagnostics } from './source/diagnostics.ts';
import type { Diagnostic } from './source/diagnostics.ts';
import { loadFolder } from './source/load.ts';

/** A file that marks the folder of a preview: the next preview may replace it. */
const marker = '.hosting-api-preview';

/**
 * Prepares the folder of a preview, before the build: empties it, and reads what is online. The returned function writes
 * the preview: all articles, and a first page with what changes online. After errors, the articles that could be rendered.
 * Throws a {@link CommandError} if the folder has other files.
 */
export async function preparePreviewFolder(folder: string, options: BuildOptions) {
  const { out, against = out } = options;
  await mkdir(folder, { recursive: true });
  const names = await readdir(folder);
  if (names.length > 0 && !names.includes(marker)) {
    throw new CommandError('--preview: the folder has other files; name an empty one, or that of an earlier preview');
  }
  const online = await readOnline(out, options.against);
  const isFolder = online !== undefined && !/^https?:/i.test(against);
  const manifest = isFolder ? await readFile(join(against, 'current', 'manifest.json'), 'utf8') : undefined;
  const files = manifest === undefined ? undefined : (await parseManifest(manifest)).files;
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true })));
  await writeFile(join(folder, marker), '');

  return async (diagnostics: readonly Diagnostic[]): Promise<void> => {
    const temporary = await mkdtemp(join(tmpdir(), 'hosting-api-preview-'));
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => rm(temporary, { recursive: true }));
    const ignored = createDiagnostics(options);
    const sources = { content: loadFolder(options.content, ignored), catalog: loadFolder(options.catalog, ignored) };
    using memo = openMemo(options.noCache ? undefined : out, true);
    await using renderer = createRenderer(options.threads);
    const compressor = compressors.fast;
    const { result, articles } = await compile({
      ...options,
      // The pages show no plans. The build has reported all problems.
      sources: { ...sources, catalog: { display: '', files: [], refused: [] } },
      diagnostics: { ...ignored, failed: () => false },
      withUnpublished: true,
      render: renderer.render,
      memo,
      compressor,
      openStage: () => createReleaseStage({ out: temporary, compressor, previous: undefined, isPreview: true }),
    });
    const release = result.release!;
    const directory = join(temporary, 'releases', release.id);
    const isSame = ({ path, output, metadata: { item } }: Article): boolean => {
      const { title, description } = { ...online!.articles.get(path) };
      const isListed = isDeepStrictEqual({ ...item, title, description }, item);
      return files ? files[output]?.sha256 === release.files[output]?.sha256 : isListed;
    };
    const compared = files ? 'all changes' : 'changed titles and descriptions';
    const shown = articles.toSorted((a, b) => compareText(a.path, b.path));
    const state = { build: 0, articles: shown, diagnostics, sources, directory };
    for (const [name, page] of renderFolder(state, online && { ...online, isSame, compared })) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), page);
    }
    for (const file of ['markdown/article.css', 'preview/browser/preview.css'])
      await cp(join(import.meta.dirname, file), join(folder, file.split('/').at(-1)!));
    if (result.counts.media > 0)
      await cp(join(directory, 'public', 'media'), join(folder, 'media'), { recursive: true });
  };
}
