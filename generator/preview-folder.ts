import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openMemo } from './articles/memo.ts';
import { CommandError } from './common/command-line.ts';
import { parseManifest } from './common/manifest.ts';
import { compile } from './compile.ts';
import type { BuildOptions } from './compile.ts';
import { createRenderer } from './markdown/renderer.ts';
import { renderChanges, renderFolderArticle } from './preview/pages.ts';
import type { Change } from './preview/pages.ts';
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
    using memo = openMemo(options.noCache ? undefined : out, true);
    await using renderer = createRenderer(options.threads);
    const compressor = compressors.fast;
    const { result, articles } = await compile({
      ...options,
      // The pages show no plans. The build has reported all problems.
      sources: { content: loadFolder(options.content, ignored), catalog: { display: '', files: [] } },
      diagnostics: { ...ignored, failed: () => false },
      withUnpublished: true,
      render: renderer.render,
      memo,
      compressor,
      openStage: () => createReleaseStage({ out: temporary, compressor, previous: undefined, isPreview: true }),
    });
    const release = result.release!;
    const directory = join(temporary, 'releases', release.id);
    const state = {
      build: 0,
      articles: articles.toSorted((a, b) => compareText(a.path, b.path)),
      diagnostics,
      directory,
    };

    const changes = state.articles.flatMap((article): Change[] => {
      const { path, output, metadata } = article;
      const { title = path, description } = metadata.item as { title?: string; description?: string };
      const before = online?.articles.get(path);
      const from = metadata.fields.aliases?.find((alias) => online?.articles.has(alias));
      if (!before) return [{ kind: from === undefined ? 'new' : 'moved', path, title, from, article }];
      const isSame = files
        ? files[output]?.sha256 === release.files[output]?.sha256
        : before.title === title && before.description === description;
      return isSame ? [] : [{ kind: 'changed', path, title, article }];
    });
    const published = articles.filter((article) => article.state === 'published');
    const kept = new Set(published.flatMap(({ path, metadata }) => [path, ...(metadata.fields.aliases ?? [])]));
    for (const [path, { title }] of online?.articles ?? []) {
      if (!kept.has(path)) changes.push({ kind: 'gone', path, title });
    }
    const compared = online && (files ? 'all changes' : 'changed titles and descriptions');

    const write = async (name: string, text: string): Promise<void> => {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    };
    await write('index.html', renderChanges(state, changes, compared));
    for (const article of state.articles)
      await write(`${article.path.slice(1)}.html`, renderFolderArticle(article, state));
    for (const file of ['markdown/article.css', 'preview/browser/preview.css'])
      await cp(join(import.meta.dirname, file), join(folder, file.split('/').at(-1)!));
    if (result.counts.media > 0)
      await cp(join(directory, 'public', 'media'), join(folder, 'media'), { recursive: true });
  };
}
