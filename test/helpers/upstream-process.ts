import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from './upstream.ts';

/** A process of the test program. */
export interface Program {
  readonly name: string;
  /** What it was told of the environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The lines of its standard input. */
  readonly inputs: readonly string[];
  readonly signals: readonly string[];
  /** Whether it is gone. */
  readonly gone: () => boolean;
  readonly order: (
    order: 'print' | 'complain' | 'deafen' | 'exit' | 'count' | 'breed' | 'abandon',
    detail?: string,
  ) => void;
}

/** Where the test programs report to. */
export interface Leashes {
  /** A command for one, under a name. */
  command(name: string, manner?: 'stubborn'): string[];
  /** All that ever started, in their order. */
  readonly programs: readonly Program[];
  /** The programs of a name that are there now. */
  alive(name: string): readonly Program[];
  /** Waits for the start of a program, counted from 1. */
  started(name: string, count?: number): Promise<Program>;
}

/** Opens the place where test programs report to; those that are left when the test ends are told to exit. */
export async function createLeashes(): Promise<Leashes> {
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
          order: (order: string, text = '') => void socket.write(`${JSON.stringify({ order, detail: text })}\n`),
        };
        program = started;
        programs.push(started);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await until('all programs are gone', () => sockets.size === 0);
  });
  const named = (name: string): Program[] => programs.filter((program) => program.name === name);
  return {
    command: (name, manner) => [
      process.execPath,
      fileURLToPath(new URL('./upstream-program.ts', import.meta.url)),
      String(port),
      name,
      ...(manner ? [manner] : []),
    ],
    programs,
    alive: (name) => named(name).filter(({ gone }) => !gone()),
    async started(name, count = 1) {
      await until(`${name} started ${count} times`, () => named(name).length >= count);
      return named(name)[count - 1]!;
    },
  };
}
