import { expect, onTestFinished, test, vi } from 'vitest';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleEvents, Provider } from '../../server/hosting/providers/types.ts';
import { createServers } from '../../server/hosting/servers.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';

/** A followed console, and the number of reads of its server's record. */
async function follow() {
  const { store } = await createHostingWorld(temporaryFolder());
  const reports: string[] = [];
  let reads = 0;
  let console: ConsoleEvents | undefined;
  const provider = {
    game: {
      openConsole(_ref: string, events: ConsoleEvents) {
        console = events;
        return { stats: () => Promise.resolve(unknownStats), close: () => void reports.push('closed') };
      },
    },
  } as unknown as Provider;
  const find: typeof store.servers.find = (server) => {
    reads += 1;
    return store.servers.find(server);
  };
  const servers = createServers({ ...store.servers, find }, new Map([['panel', provider]]));
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const source = await servers.openConsole('game:mine', {
    line: () => undefined,
    status: () => undefined,
    loaded: () => undefined,
    gap: () => undefined,
    ended: (reason) => void reports.push(reason),
  });
  return { source, reports, console: console!, reads: () => reads };
}

test('the record of a server is read only while its console is followed', async () => {
  const { source, reads } = await follow();
  expect(reads()).toBe(1);
  vi.advanceTimersByTime(20_000);
  expect(reads()).toBe(5);
  source.close();
  vi.advanceTimersByTime(60_000);
  expect(reads()).toBe(5);
});

test("an ended console stops the reads of its server's record", async () => {
  const { console: provided, reports, reads } = await follow();
  provided.ended('the server was deleted');
  vi.advanceTimersByTime(60_000);
  expect(reads()).toBe(1);
  expect(reports).toEqual(['the server was deleted']);
});
