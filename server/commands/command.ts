import { parseArgs as parseTokens } from 'node:util';
import { parseArgs } from 'citty';
import type { ArgsDef, CommandDef, ParsedArgs } from 'citty';
import { closest, distance } from 'fastest-levenshtein';
import type { Context } from './context.ts';

/** A command that cannot be carried out as asked; the message says why and is all that is printed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** One command of the operator, or a group of them. */
export interface Command {
  /** What citty writes the usage from. */
  readonly definition: CommandDef;
  readonly commands?: Readonly<Record<string, Command>>;
  run(rawArgs: readonly string[], context: Context): Promise<void>;
}

/** What a command is called with. */
export interface CommandInput<Args extends ArgsDef> {
  readonly args: ParsedArgs<Args>;
  /** All values of an option that may be repeated, in order and each once. */
  readonly all: (option: keyof Args & string) => string[];
}

/**
 * Defines a command that refuses what citty would pass over: unknown and repeated options, options without a value,
 * surplus and missing arguments. Options named in `repeatable` may be given several times.
 */
export function defineStrictCommand<const Args extends ArgsDef>({
  meta,
  args,
  repeatable = [],
  run,
}: {
  readonly meta: { name: string; description: string };
  readonly args: Args;
  readonly repeatable?: readonly (keyof Args & string)[];
  readonly run: (input: CommandInput<Args>, context: Context) => Promise<void>;
}): Command {
  return {
    definition: { meta, args },
    async run(rawArgs, context) {
      checkArguments(rawArgs, args, repeatable);
      const input = {
        args: parseArgs<Args>([...rawArgs], args),
        all: (option: string) => [...new Set(tokenize(rawArgs, args).flatMap((token) => valueOf(token, option)))],
      };
      await run(input, context);
    },
  };
}

/** Defines a group of commands, one of which the first argument names. */
export function defineGroup(
  meta: { name: string; description: string },
  commands: Readonly<Record<string, Command>>,
): Command {
  const subCommands = Object.fromEntries(Object.entries(commands).map(([name, { definition }]) => [name, definition]));
  const names = Object.keys(commands);
  return {
    definition: { meta, subCommands },
    commands,
    async run([name, ...rest], context) {
      if (name === undefined) throw new CommandError(`which ${meta.name} command? ${names.join(', ')}`);
      if (name.startsWith('-')) {
        throw new CommandError(`which ${meta.name} command? ${names.join(', ')}; options come after it`);
      }
      const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
      if (!command) throw new CommandError(`unknown command ${show(name)}${didYouMean(name, names)}`);
      await command.run(rest, context);
    },
  };
}

/** ` (did you mean x?)`, or nothing where no known word is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  if (known.length === 0) return '';
  const nearest = closest(word, known);
  return distance(word, nearest) <= Math.max(2, word.length / 3) ? ` (did you mean ${show(nearest)}?)` : '';
}

/** The secrets of API keys blotted out: a mistyped command must not leave one in a log or on a screen that is shared. */
export function blot(text: string): string {
  return text.replaceAll(/(hk_[A-Za-z0-9]{12})_[A-Za-z0-9]+/g, '$1_***');
}

/**
 * Text of someone else's, fit for a terminal: what could move its cursor or turn the reading direction is written out,
 * and secrets of API keys are not written at all.
 */
export function show(text: string): string {
  return blot(text).replaceAll(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

function checkArguments(rawArgs: readonly string[], args: ArgsDef, repeatable: readonly string[]): void {
  const options = Object.keys(args).filter((name) => args[name]!.type !== 'positional');
  const positionals = Object.keys(args).filter((name) => args[name]!.type === 'positional');
  const given = new Set<string>();
  const values: string[] = [];
  for (const token of tokenize(rawArgs, args)) {
    if (token.kind === 'positional') values.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    if (!options.includes(name) || rawName !== `--${name}`) {
      const known = options.map((option) => `--${option}`);
      throw new CommandError(`unknown option ${show(rawName)}${didYouMean(rawName, known)}`);
    }
    if (given.has(name) && !repeatable.includes(name)) throw new CommandError(`${rawName} is given twice`);
    given.add(name);
    if (args[name]!.type === 'boolean' && value !== undefined) throw new CommandError(`${rawName} takes no value`);
    if (args[name]!.type === 'string' && (value === undefined || (!inlineValue && value.startsWith('-')))) {
      throw new CommandError(`${rawName} needs a value`);
    }
  }
  const extra = values[positionals.length];
  if (extra !== undefined) throw new CommandError(`unexpected argument ${show(extra)}`);
  const absent = positionals.slice(values.length).find((name) => args[name]!.required);
  if (absent !== undefined) throw new CommandError(`${absent.toUpperCase()} is missing`);
  const missing = options.find((name) => args[name]!.required && !given.has(name));
  if (missing !== undefined) throw new CommandError(`--${missing} is missing`);
}

type Token = NonNullable<ReturnType<typeof tokenize>>[number];

/** The arguments one by one, read by the same parser that citty uses, which keeps only the last of a repeated option. */
function tokenize(rawArgs: readonly string[], args: ArgsDef) {
  const options = Object.entries(args).flatMap(([name, { type }]) =>
    type === 'positional' ? [] : [[name, { type: type === 'boolean' ? type : ('string' as const) }] as const],
  );
  return parseTokens({
    args: [...rawArgs],
    options: Object.fromEntries(options),
    strict: false,
    allowPositionals: true,
    tokens: true,
  }).tokens;
}

function valueOf(token: Token, option: string): string[] {
  return token.kind === 'option' && token.name === option && token.value !== undefined ? [token.value] : [];
}
