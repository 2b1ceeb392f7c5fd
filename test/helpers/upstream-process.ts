import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { listen } from './free-port.ts';
import { until } from './upstream.ts';

/** Orders for a test program. */
type Order = 'print' | 'print-error' | 'pause-input' | 'exit' | 'print-lines' | 'spawn-child' | 'spawn-detached';

/** Starts test programs and receives their reports. */
export type Supervisor = Awaited<ReturnType<typeof createSupervisor>>;

/** A process of the test program. */
function createProgram(socket: Socket, name: string, environment: string) {
  return {
    name,
    env: JSON.parse(environment) as Readonly<Record<string, string>>,
    /** Lines of standard input. */
    inputs: [] as string[],
    signals: [] as string[],
    gone: () => socket.closed,
    send: (order: Order, detail = '') => void socket.write(`${JSON.stringify({ order, detail })}\n`),
  };
}

/** Opens a port for reports of test programs; programs still running when the test ends exit. */
export async function createSupervisor() {
  const programs: ReturnType<typeof createProgram>[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    let program: (typeof programs)[number] | undefined;
    createInterface({ input: socket }).on('line', (line) => {
      const { name, event, detail } = JSON.parse(line) as { name: string; event: string; detail: string };
      if (event === 'input') program?.inputs.push(detail);
      else if (event === 'SIGTERM') program?.signals.push(event);
      else programs.push((program = createProgram(socket, name, detail)));
    });
  });
  const port = await listen(server);
  onTestFinished(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await until('all programs are gone', () => sockets.size === 0);
  });
  const named = (name: string) => programs.filter((program) => program.name === name);
  return {
    /** Returns the command line of a program with this name. */
    command: (name: string, mode?: 'ignore-sigterm') => [
      process.execPath,
      fileURLToPath(new URL('./upstream-program.ts', import.meta.url)),
      String(port),
      name,
      ...(mode ? [mode] : []),
    ],
    /** All programs started so far, in order. */
    programs,
    /** Returns the running programs with this name. */
    alive: (name: string) => named(name).filter(({ gone }) => !gone()),
    /** Waits for the nth start of a program, counting from 1. */
    async started(name: string, count = 1) {
      await until(`${name} started ${count} times`, () => named(name).length >= count);
      return named(name)[count - 1]!;
    },
  };
}
