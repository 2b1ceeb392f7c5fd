import { defineCommand } from 'citty';

/** The command line of the generator; what a command needs is loaded when it is run. */
export const generatorCommand = defineCommand({
  meta: { name: 'generator', description: 'Compiles content/ and catalog/ into releases.' },
  subCommands: {
    build: () => import('./build.ts').then(({ buildCommand }) => buildCommand),
    check: () => import('./build.ts').then(({ checkCommand }) => checkCommand),
    dev: () => import('./dev.ts').then(({ devCommand }) => devCommand),
    releases: () => import('./releases.ts').then(({ releasesCommand }) => releasesCommand),
  },
});
