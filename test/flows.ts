import { Session } from 'node:inspector/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { EndpointName } from '#contract/endpoints.ts';
import { openClient } from './helpers/console-client.ts';
import { ends } from './helpers/ends.ts';
import { findFreePort } from './helpers/free-port.ts';
import { ask } from './server/ask.ts';
import { serveShared } from './server/shared.ts';
import { requestOf } from './server/targets.ts';

// Lists the files on the path of a request: files with a function that runs between the first byte of the request and
// the last byte of the response, in a warm server. Run it with `node test/flows.ts`.

const repository = `${pathToFileURL(resolve(import.meta.dirname, '..')).href}/`;
const profiler = new Session();

try {
  const port = await findFreePort();
  const settings = { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` };
  const app = await serveShared(settings, (end) => void ends.push(end));
  /** Prepares a request before measuring, because preparing runs code of the contract. */
  const prepare = (name: EndpointName) => {
    const { target, ...question } = requestOf(name, app);
    return async (path: string = target): Promise<string> => {
      const { status, text } = await ask(app, path, question);
      if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
      return text;
    };
  };
  const [search, openConsole] = [prepare('searchDomain'), prepare('openGameConsole')];
  let names = 0;
  const flows: Readonly<Record<string, () => Promise<unknown>>> = {
    'a cached article': prepare('getBlogArticle'),
    'a domain search': () => search(`/v1/domains/search?domain=name-${(names += 1)}.com`),
    'a vote': prepare('sendFeedback'),
    'a restart': prepare('restartGameServer'),
    'a console stream': async () => {
      const { websocket } = JSON.parse(await openConsole()) as { websocket: { socket_url: string; token: string } };
      const client = await openClient(websocket.socket_url);
      await client.auth(websocket.token);
      client.socket.close();
      await client.ended;
    },
  };
  profiler.connect();
  await profiler.post('Profiler.enable');
  await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  // Background work of the start, such as checks of providers, is not part of a flow.
  await flows['a cached article']!();
  await sleep(5000);
  for (const [name, run] of Object.entries(flows)) {
    for (let warm = 0; warm < 3; warm += 1) await run();
    const runs: Set<string>[] = [];
    // Background work that runs by chance does not run every time.
    for (let round = 0; round < 3; round += 1) {
      await profiler.post('Profiler.takePreciseCoverage');
      await run();
      const { result } = await profiler.post('Profiler.takePreciseCoverage');
      const ran = result.filter(
        ({ url, functions }) =>
          /^(?:generator|server)\//.test(url.replace(repository, '')) &&
          functions.some(({ ranges }) => ranges.some(({ startOffset, count }) => startOffset > 0 && count > 0)),
      );
      runs.push(new Set(ran.map(({ url }) => url.replace(repository, ''))));
    }
    const files = [...runs.reduce((all, each) => all.intersection(each))].toSorted();
    console.log(`${name}: ${files.length} files\n${files.map((file) => `  ${file}`).join('\n')}`);
  }
} finally {
  for (const end of ends.splice(0).toReversed()) await end();
}
