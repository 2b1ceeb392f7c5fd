import { defineCommand } from 'citty';
import { buildCommand, checkCommand } from './build.ts';
import { releasesCommand } from './releases.ts';

/** The command line of the generator. */
export const generatorCommand = defineCommand({
  meta: { name: 'generator', description: 'Compiles content/ and catalog/ into releases.' },
  subCommands: { build: buildCommand, check: checkCommand, releases: releasesCommand },
});
