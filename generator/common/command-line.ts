import { defineCommand } from 'citty';
import type { ArgsDef, CommandContext, CommandDef } from 'citty';
import { suggest } from './suggest.ts';

/** A command that cannot be carried out as asked; the message says why and is all that is printed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/**
 * Defines a command that refuses unknown flags and surplus arguments, which citty would pass over. An error that the
 * user can do something about ends it with status 1 and its message.
 */
export function defineStrictCommand<const Args extends ArgsDef>(definition: {
  meta: { name: string; description: string };
  args: Args;
  run(context: CommandContext<Args>): Promise<void>;
}): CommandDef<Args> {
  return defineCommand({
    ...definition,
    async run(context: CommandContext<Args>) {
      try {
        refuseUnknown(context.rawArgs, definition.args, context.args._);
        await definition.run(context);
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        process.stderr.write(`${error.message}\n`);
        process.exitCode = 1;
      }
    },
  });
}

function refuseUnknown(rawArgs: readonly string[], args: ArgsDef, positionals: readonly string[]): void {
  const negatable = Object.keys(args)
    .filter((name) => args[name]!.type === 'boolean')
    .map((name) => `no-${name}`);
  const flags = Object.keys(args).filter((name) => args[name]!.type !== 'positional');
  for (const [index, arg] of rawArgs.entries()) {
    if (!arg.startsWith('-')) continue;
    const [flag = '', value] = arg.split('=', 2);
    const name = flag.replace(/^--?/, '');
    if (!flags.includes(name) && !negatable.includes(name)) {
      const near = suggest(name, [...flags, ...negatable])?.replace(/"(.*)"/, '--$1');
      throw new CommandError(`unknown option ${flag}${near ? ` (${near})` : ''}`);
    }
    const wanting = value === '' || (value === undefined && (rawArgs[index + 1] ?? '-').startsWith('-'));
    if (flags.includes(name) && args[name]!.type !== 'boolean' && wanting)
      throw new CommandError(`${flag} needs a value`);
  }
  const expected = Object.values(args).filter(({ type }) => type === 'positional').length;
  if (positionals.length > expected) throw new CommandError(`unexpected argument "${positionals[expected]!}"`);
}
