import { runProgram, startProgram } from './project.ts';

interface TerminalOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}

const toScript = (command: string, { cwd, env }: TerminalOptions) =>
  [
    'script',
    ['-qec', `stty cols 80 rows 40; exec ${command}`, '/dev/null'],
    { cwd, env: { PATH: process.env.PATH, TERM: 'xterm', ...env } },
  ] as const;

/** Runs a command in a pseudo-terminal of 80 columns, and returns the text that it sends, with colours. */
export async function runInTerminal(command: string, options: TerminalOptions): Promise<string> {
  const { stdout } = await runProgram(...toScript(command, options));
  return stdout.replaceAll('\r\n', '\n');
}

/** Starts a command in a pseudo-terminal; `interrupt` presses Ctrl-C. */
export function startInTerminal(command: string, options: TerminalOptions) {
  const program = startProgram(...toScript(command, options));
  return { ...program, interrupt: () => program.child.stdin.write('\u0003') };
}

/** Removes progress lines, which a terminal erases: the text of each line up to the last erasure. */
export const withoutProgress = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.split('\r\u001B[K').at(-1)!)
    .join('\n');

/** Matches characters that control a terminal, or hide or reorder text, except line breaks and the given characters. */
export function findActing(text: string, allowed = ''): string[] {
  return Array.from(text).filter(
    (character) => !`\n${allowed}`.includes(character) && /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\uFEFF]/u.test(character),
  );
}

/** Removes the colours of the pretty log. Node's own function would also hide the 8-bit CSI. */
export function withoutColours(text: string): string {
  return text.replaceAll(new RegExp(String.raw`\u001B\[\d{1,2}m`, 'g'), '');
}
