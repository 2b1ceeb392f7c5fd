import { z } from 'zod';
import { renderOpenApi } from '#contract/openapi.ts';
import { fileOf, sources, toJsonText } from '#contract/resources.ts';
import type { ResourceName } from '#contract/resources.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { Stage } from './stage.ts';
import { compileStatusWidget } from './status-widget.ts';

/** The path of a versioned widget holds its version. */
const versionIn = /\.(\w+)\.js$/;

/**
 * Writes the files that come from the generator itself: the API description, the schemas of source files, the status
 * widget. Those of the release before are taken over where this same generator made them, as `known` says.
 */
export async function writeGeneratorFiles(stage: Stage, known: StatusWidget | undefined): Promise<StatusWidget> {
  const schemas = Object.entries(sources);
  const [, version = ''] = versionIn.exec(known?.path ?? '') ?? [];
  const files = [
    fileOf('openapi', {}),
    ...schemas.map(([source]) => fileOf('sourceSchema', { source })),
    fileOf('statusWidget', {}),
    fileOf('statusWidgetVersion', { version }),
    fileOf('statusWidgetIntegrity', {}),
  ];
  const missing = new Set(known ? files.filter((file) => !stage.takeOver(file)) : undefined);
  if (known && missing.size === 0) return known;

  const widget = await compileStatusWidget();
  const write = async (name: ResourceName, params: Readonly<Record<string, string>>, text: string): Promise<void> => {
    const file = fileOf(name, params);
    if (!known || missing.has(file)) await stage.write(file, Buffer.from(text));
  };
  await write('openapi', {}, toJsonText('openapi', renderOpenApi()));
  for (const [source, schema] of schemas) {
    await write('sourceSchema', { source }, toJsonText('sourceSchema', z.toJSONSchema(schema)));
  }
  await write('statusWidget', {}, widget.script);
  await write('statusWidgetVersion', { version: widget.version }, widget.script);
  await write('statusWidgetIntegrity', {}, toJsonText('statusWidgetIntegrity', widget.embed));
  return widget.embed;
}
