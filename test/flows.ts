import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { on, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { findFreePort } from './helpers/free-port.ts';
import { buildTargets, rowSettings, serveTargets } from './http/targets/serving.ts';

// Counts the files that a reader of a request meets: those of which a function runs between its first byte and the last of
// its answer, in a server that has answered it before. Prints them: `node test/flows.ts`.

const ends: (() => unknown)[] = [];
const onEnd = (end: () => unknown): void => void ends.unshift(end);
const repository = `${pathToFileURL(resolve(import.meta.dirname, '..')).href}/`;

/** The commands of V8's inspector: https://chromedevtools.github.io/devtools-protocol/v8/Profiler/. */
async function connectProfiler(port: number): Promise<(method: string, params?: object) => Promise<unknown>> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string;
  }[];
  const socket = new WebSocket(target!.webSocketDebuggerUrl);
  await once(socket, 'open');
  onEnd(() => socket.terminate());
  let id = 0;
  return async (method, params = {}) => {
    id += 1;
    socket.send(JSON.stringify({ id, method: `Profiler.${method}`, params }));
    const [data] = (await once(socket, 'message')) as [Buffer];
    return (JSON.parse(data.toString()) as { result: unknown }).result;
  };
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

try {
  const root = await buildTargets(onEnd);
  const [inspect, port] = [await findFreePort(), await findFreePort()];
  const NODE_OPTIONS = `--inspect=127.0.0.1:${inspect}`;
  const installed = {
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    DOMAIN_RATELIMIT_BURST: '100',
    POWER_RATELIMIT_BURST: '100',
    FEEDBACK_RATELIMIT_BURST: '100',
    MAX_FEEDBACK_BODY_BYTES: '4096',
  };
  const served = await serveTargets({ root, settings: { ...rowSettings, ...installed, NODE_OPTIONS }, onEnd });
  const keys = await served.issueKeys();
  const profiler = await connectProfiler(inspect);
  await profiler('enable');
  await profiler('startPreciseCoverage', { callCount: true, detailed: false });

  const url = `http://127.0.0.1:${served.port}`;
  const headers = { authorization: `Bearer ${keys['{key}']}`, 'content-type': 'application/json' };
  const ask = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const answer = await fetch(url + path, init);
    const text = await answer.text();
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${text}`);
    return answer.headers.get('content-type')?.includes('json') ? (JSON.parse(text) as unknown) : text;
  };
  let names = 0;
  const flows: Readonly<Record<string, () => Promise<unknown>>> = {
    'a cached article': () => ask('/v1/blog/article?path=/blog/news/first'),
    'a domain search': () => ask(`/v1/domains/search?domain=name-${(names += 1)}.com`),
    'a vote': () =>
      ask('/v1/kb/feedback', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ helpful: true, slug: '/knowledgebase/vps/ssh' }),
      }),
    'a restart': () => ask('/v1/hosting/game/power/mine/restart', { method: 'POST', headers }),
    'a console stream': async () => {
      const { websocket } = (await ask('/v1/hosting/game/console/mine/websocket', { headers })) as {
        websocket: { socket_url: string; token: string };
      };
      const socket = new WebSocket(websocket.socket_url);
      await once(socket, 'open');
      socket.send(JSON.stringify({ event: 'auth', args: [websocket.token] }));
      for await (const [data] of on(socket, 'message')) if (String(data).includes('auth success')) break;
      socket.close();
      await once(socket, 'close');
    },
  };
  // What the first answer begins in the background, such as the checks of providers, is none of the flows.
  await flows['a cached article']!();
  await sleep(5000);
  for (const [name, run] of Object.entries(flows)) {
    for (let warm = 0; warm < 3; warm += 1) await run();
    const runs: Set<string>[] = [];
    // What runs in the background by chance does not run each time.
    for (let round = 0; round < 3; round += 1) {
      await profiler('takePreciseCoverage');
      await run();
      const { result } = (await profiler('takePreciseCoverage')) as Coverage;
      const ran = result.filter(
        ({ url: file, functions }) =>
          file.startsWith(repository) &&
          !file.includes('/node_modules/') &&
          functions.some(({ ranges }) => ranges.some(({ startOffset, count }) => startOffset > 0 && count > 0)),
      );
      runs.push(new Set(ran.map(({ url: file }) => file.slice(repository.length))));
    }
    const files = [...runs.reduce((all, each) => all.intersection(each))].toSorted();
    console.log(`${name}: ${files.length} files\n${files.map((file) => `  ${file}`).join('\n')}`);
  }
} finally {
  for (const end of ends) await end();
}
