import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { renderOpenApi } from '#contract/openapi.ts';
import { fileOf, sources, toJsonText } from '#contract/resources.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { Stage } from './stage.ts';
import { listDocsFiles } from '../reference/files.ts';
import { compileStatusWidget } from './status-widget.ts';

/** Matches the version in the path of a versioned widget. */
const versionPattern = /\.(\w+)\.js$/;

let rendered: ReturnType<typeof render> | undefined;

/**
 * Writes the files that depend on the generator only: the API description, the schemas of source files, the style
 * sheet of articles, the status widget, the pages of /docs. A process renders them once.
 * `previous` is the widget of the previous release if this version of the generator made it: then its files are reused.
 */
export async function writeGeneratorFiles(stage: Stage, previous: StatusWidget | undefined): Promise<StatusWidget> {
  const [, version = ''] = versionPattern.exec(previous?.path ?? '') ?? [];
  const missing = previous && new Set(listFiles(version).filter((file) => !stage.reuse(file)));
  if (previous && missing?.size === 0) return previous;

  // The same buffers each time, so that a process compresses them once.
  const { widget, files } = await (rendered ??= render());
  for (const [file, bytes] of files) if (!missing || missing.has(file)) await stage.write(file, bytes);
  return widget;
}

/** The paths of all files, which are known before their bytes are. */
function listFiles(widgetVersion: string): string[] {
  return [
    fileOf('openapi', {}),
    ...Object.keys(sources).map((source) => fileOf('sourceSchema', { source })),
    fileOf('articleStyle', {}),
    fileOf('statusWidget', {}),
    fileOf('statusWidgetVersion', { version: widgetVersion }),
    fileOf('statusWidgetIntegrity', {}),
    ...listDocsFiles().map(({ file }) => file),
  ];
}

async function render(): Promise<{ widget: StatusWidget; files: readonly (readonly [file: string, bytes: Buffer])[] }> {
  const { script, version, embed } = await compileStatusWidget();
  const style = readFileSync(join(import.meta.dirname, '../markdown/article.css'), 'utf8');
  const texts = { 'application/javascript': script, 'text/css': style };
  const files: [string, string | Buffer][] = [
    [fileOf('openapi', {}), toJsonText('openapi', renderOpenApi({ widgetVersion: version, texts }))],
    ...Object.entries(sources).map(([source, schema]): [string, string] => [
      fileOf('sourceSchema', { source }),
      toJsonText('sourceSchema', z.toJSONSchema(schema)),
    ]),
    [fileOf('articleStyle', {}), style],
    [fileOf('statusWidget', {}), script],
    [fileOf('statusWidgetVersion', { version }), script],
    [fileOf('statusWidgetIntegrity', {}), toJsonText('statusWidgetIntegrity', embed)],
  ];
  for (const { file, read } of listDocsFiles()) files.push([file, await read()]);
  return { widget: embed, files: files.map(([file, bytes]) => [file, Buffer.from(bytes)]) };
}
