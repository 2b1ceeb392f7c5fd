#!/usr/bin/env node
import { defineCommand, runMain } from 'citty';
import { buildCommand, checkCommand } from './commands/build.ts';
import { releasesCommand } from './commands/releases.ts';

await runMain(
  defineCommand({
    meta: { name: 'generator', description: 'Compiles content/ and catalog/ into releases.' },
    subCommands: { build: buildCommand, check: checkCommand, releases: releasesCommand },
  }),
);
