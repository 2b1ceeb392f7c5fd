import { z } from 'zod';
import { renderOpenApi } from '#contract/openapi.ts';
import { fileOf, sources } from '#contract/resources.ts';
import type { ResourceName } from '#contract/resources.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { Params, Stage } from './stage.ts';
import { compileStatusWidget } from './status-widget.ts';

/** The path of a versioned widget holds its version. */
const versionIn = /\.(\w+)\.js$/;

/**
 * Writes the files that come from the generator itself: the API description, the schemas of source files, the status
 * widget. Those of the build before are taken over where this same generator made them, as `known` says.
 */
export async function writeGeneratorFiles(stage: Stage, known: StatusWidget | undefined): Promise<StatusWidget> {
  const [, version = ''] = versionIn.exec(known?.path ?? '') ?? [];
  const files: [ResourceName, Params][] = [
    ['openapi', {}],
    ...Object.keys(sources).map((source): [ResourceName, Params] => ['sourceSchema', { source }]),
    ['statusWidget', {}],
    ['statusWidgetVersion', { version }],
    ['statusWidgetIntegrity', {}],
  ];
  if (known && files.every(([name, params]) => stage.reuse(fileOf(name, params)))) return known;

  await stage.write('openapi', {}, renderOpenApi());
  for (const [source, schema] of Object.entries(sources)) {
    await stage.write('sourceSchema', { source }, z.toJSONSchema(schema));
  }
  const widget = await compileStatusWidget();
  await stage.writeScript('statusWidget', {}, widget.script);
  await stage.writeScript('statusWidgetVersion', { version: widget.version }, widget.script);
  await stage.write('statusWidgetIntegrity', {}, widget.embed);
  return widget.embed;
}
