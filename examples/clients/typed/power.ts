import { setTimeout as sleep } from 'node:timers/promises';
import type { paths } from './schema.ts';

// Does a power action on a game server and waits for the state. The types are generated from the API's OpenAPI
// document:
//   npx openapi-typescript@7 "$API_URL/v1/openapi.json" -o schema.ts
//   HOSTING_API_KEY=hk_... API_URL=https://api.example.com node power.ts SERVER start|stop|restart
const { API_URL: base = 'http://localhost:3000', HOSTING_API_KEY: key } = process.env;
const [, , server = 'demo', action = ''] = process.argv;

type Method = 'get' | 'post';
type PathOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];
type ParametersOf<Operation> = Operation extends { parameters: { path: infer Values } }
  ? Values
  : Record<string, never>;
type AnswerOf<Operation> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Answer } } };
}
  ? Answer
  : never;

/** Calls an endpoint. The compiler checks the path, the parameters and the response. */
async function call<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  parameters: ParametersOf<paths[P][M]>,
  headers: Record<string, string> = {},
): Promise<AnswerOf<paths[P][M]>> {
  const values = parameters as Record<string, string | undefined>;
  const url = base + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const authorized = { Authorization: `Bearer ${key}`, ...headers };
  const options = { method: method.toUpperCase(), headers: authorized, signal: AbortSignal.timeout(30_000) };
  const response = await fetch(url, options);
  if (!response.ok) throw new Error(`${options.method} ${url}: ${response.status} ${(await response.text()).trim()}`);
  return (await response.json()) as AnswerOf<paths[P][M]>;
}

async function run(): Promise<string> {
  if (!key) throw new Error('Set the environment variable HOSTING_API_KEY to your key, hk_...');
  if (action !== 'start' && action !== 'stop' && action !== 'restart') {
    throw new Error('usage: node power.ts SERVER start|stop|restart');
  }
  const parameters = { server_id: server };
  // With the same Idempotency-Key, a retry does not repeat the action.
  const once = { 'Idempotency-Key': crypto.randomUUID() };
  const { message } = await call('post', `/v1/hosting/game/power/{server_id}/${action}`, parameters, once);
  console.log(message);
  const wanted = action === 'stop' ? 'offline' : 'running';
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(2000)) {
    const { state } = await call('get', '/v1/hosting/game/power/{server_id}', parameters);
    console.log(`${server} is ${state}`);
    if (state === wanted) return state;
  }
  throw new Error(`${server} is not ${wanted} after two minutes`);
}

await run().catch(({ message }: Error) => {
  console.error(message);
  process.exitCode = 1;
});
