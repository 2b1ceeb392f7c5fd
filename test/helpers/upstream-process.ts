import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { listen } from './free-port.ts';
import { until } from './upstream.ts';

/** A process of the test program. */
interface Program {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** The lines of its standard input. */
  readonly inputs: readonly string[];
  readonly signals: readonly string[];
  readonly gone: () => boolean;
  readonly send: (
    order: 'print' | 'print-error' | 'pause-input' | 'exit' | 'print-lines' | 'spawn-child' | 'spawn-detached',
    detail?: string,
  ) => void;
}

/** Starts test programs and receives their reports. */
export type Supervisor = Awaited<ReturnType<typeof createSupervisor>>;

/** Opens a port for the reports of test programs; programs that still run when the test ends exit. */
export async function createSupervisor() {
  const programs: Program[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let gone = false;
    let program: { inputs: string[]; signals: string[] } | undefined;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      gone = true;
      sockets.delete(socket);
    });
    createInterface({ input: socket }).on('line', (line) => {
      const { name, event, detail } = JSON.parse(line) as { name: string; event: string; detail: string };
      if (event === 'input') program?.inputs.push(detail);
      else if (event === 'SIGTERM') program?.signals.push(event);
      else {
        const started = {
          name,
          env: JSON.parse(detail) as Record<string, string>,
          inputs: [],
          signals: [],
          gone: () => gone,
          send: (order: string, text = '') => void socket.write(`${JSON.stringify({ order, detail: text })}\n`),
        };
        program = started;
        programs.push(started);
      }
    });
  });
  const port = await listen(server);
  onTestFinished(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await until('all programs are gone', () => sockets.size === 0);
  });
  const named = (name: string): Program[] => programs.filter((program) => program.name === name);
  return {
    /** The command line that starts a program with a name. */
    command: (name: string, mode?: 'ignore-sigterm') => [
      process.execPath,
      fileURLToPath(new URL('./upstream-program.ts', import.meta.url)),
      String(port),
      name,
      ...(mode ? [mode] : []),
    ],
    /** All programs that ever started, in order. */
    programs: programs as readonly Program[],
    /** The running programs with a name. */
    alive: (name: string) => named(name).filter(({ gone }) => !gone()),
    /** Waits for the nth start of a program, counted from 1. */
    async started(name: string, count = 1) {
      await until(`${name} started ${count} times`, () => named(name).length >= count);
      return named(name)[count - 1]!;
    },
  };
}
