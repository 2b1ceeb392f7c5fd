import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { renderOpenApi } from '#contract/openapi.ts';
import { fileOf, sources, toJsonText } from '#contract/resources.ts';
import type { ResourceName } from '#contract/resources.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { Stage } from './stage.ts';
import { listDocsFiles } from '../reference/files.ts';
import { compileStatusWidget } from './status-widget.ts';

/** Matches the version in the path of a versioned widget. */
const versionPattern = /\.(\w+)\.js$/;

/**
 * Writes the files that depend on the generator only: the API description, the schemas of source files, the style
 * sheet of articles, the status widget, the pages of /docs.
 * `previous` is the widget of the previous release if this version of the generator made it: then its files are reused.
 */
export async function writeGeneratorFiles(stage: Stage, previous: StatusWidget | undefined): Promise<StatusWidget> {
  const docs = listDocsFiles();
  const schemas = Object.entries(sources);
  const [, version = ''] = versionPattern.exec(previous?.path ?? '') ?? [];
  const files = [
    fileOf('openapi', {}),
    ...schemas.map(([source]) => fileOf('sourceSchema', { source })),
    fileOf('articleStyle', {}),
    fileOf('statusWidget', {}),
    fileOf('statusWidgetVersion', { version }),
    fileOf('statusWidgetIntegrity', {}),
    ...docs.map(({ file }) => file),
  ];
  const missing = new Set(previous ? files.filter((file) => !stage.reuse(file)) : undefined);
  if (previous && missing.size === 0) return previous;

  const widget = await compileStatusWidget();
  const isMissing = (file: string): boolean => !previous || missing.has(file);
  const write = async (name: ResourceName, params: Readonly<Record<string, string>>, text: string): Promise<void> => {
    const file = fileOf(name, params);
    if (isMissing(file)) await stage.write(file, Buffer.from(text));
  };
  const style = readFileSync(join(import.meta.dirname, '../markdown/article.css'), 'utf8');
  const texts = { 'application/javascript': widget.script, 'text/css': style };
  await write('openapi', {}, toJsonText('openapi', renderOpenApi({ widgetVersion: widget.version, texts })));
  for (const [source, schema] of schemas) {
    await write('sourceSchema', { source }, toJsonText('sourceSchema', z.toJSONSchema(schema)));
  }
  await write('articleStyle', {}, style);
  await write('statusWidget', {}, widget.script);
  await write('statusWidgetVersion', { version: widget.version }, widget.script);
  await write('statusWidgetIntegrity', {}, toJsonText('statusWidgetIntegrity', widget.embed));
  for (const { file, read } of docs.filter((one) => isMissing(one.file))) {
    const bytes = await read();
    await stage.write(file, typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
  }
  return widget.embed;
}
