import { onTestFinished } from 'vitest';
import { runHere } from '../commands/run-command.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { send } from '../server/ask.ts';
import { operatorPorts } from '../server/described.ts';
import type { Question } from '../server/ask.ts';
import { serveHosting } from '../server/shared.ts';

/** The JSON of an answer of the operators' port. */
export type Json = Record<string, unknown> & { readonly servers: Json[]; readonly keys: Json[]; readonly key: string };

/** An answer of the operators' port. */
export interface OperatorAnswer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly json: Json;
}

/** Sends a request to the operators' port of an instance. */
export async function call(
  port: number,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
  question: Question = {},
): Promise<OperatorAnswer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await send(port, path, { method, ...(token && { key: token }), body: text, ...question });
  const isJson = String(answer.headers['content-type']).startsWith('application/json');
  const json = (isJson && answer.text !== '' ? JSON.parse(answer.text) : { text: answer.text }) as Json;
  return { status: answer.status, headers: answer.headers, json };
}

/** Creates an operator token by the command. */
export async function createToken(world: HostingWorld, label: string, ...args: string[]) {
  const all = ['operators', 'create', '--label', label, ...args, '--json'];
  const { status, stdout, stderr } = await runHere(all, world.settings);
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as { id: string; token: string };
}

/** Serves the operators' port of a new world, with a token of both rights. */
export async function serveOperators(settings: Record<string, string> = {}, databaseUrl?: string) {
  const world = await createHostingWorld(temporaryFolder(), { onEnd: onTestFinished, databaseUrl });
  const { app } = await serveHosting({ OPERATOR_PORT: '0', ...settings }, { world });
  const { id, token } = await createToken(world, 'billing', '--right', 'servers', '--right', 'keys');
  const port = app.operatorPort!;
  operatorPorts.add(port);
  return {
    app,
    world,
    port,
    tokenId: id,
    token,
    run: (...args: string[]) => runHere(args, world.settings),
    /** Sends a request with the token. */
    call: (method: string, path: string, body?: unknown, question?: Question) =>
      call(port, token, method, path, body, question),
    /** Reads the changes in the audit log, without the entries before them. */
    changes: async () => {
      const entries = await Array.fromAsync(world.store.audit.entries({ changes: true }));
      return entries.filter(({ phase, actor }) => phase === 'finished' && actor !== 'command line');
    },
  };
}
