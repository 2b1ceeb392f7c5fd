import { expect, onTestFinished, test, vi } from 'vitest';
import type { ConsoleEvents, Provider } from '../../server/hosting/providers/types.ts';
import { openConsoleSource } from '../../server/hosting/console/source.ts';
import { createServers } from '../../server/hosting/servers.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';

/** A console behind providers/types.ts, and how often the record of its server is looked at. */
async function follow() {
  const { store } = await createHostingWorld(temporaryFolder());
  const told: string[] = [];
  let looks = 0;
  let console: ConsoleEvents | undefined;
  const provider = {
    game: {
      openConsole(_ref: string, events: ConsoleEvents) {
        console = events;
        return { close: () => void told.push('closed') };
      },
    },
  } as unknown as Provider;
  const find: typeof store.servers.find = (server) => {
    looks += 1;
    return store.servers.find(server);
  };
  const servers = createServers({ ...store.servers, find }, new Map([['panel', provider]]));
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const source = await openConsoleSource(servers, 'game:mine', {
    line: () => undefined,
    status: () => undefined,
    gap: () => undefined,
    ended: (reason) => void told.push(reason),
  });
  return { store, source, told, console: console!, looks: () => looks };
}

test('the record of a server is looked at while its console is followed, and not a moment longer', async () => {
  const { source, looks } = await follow();
  expect(looks()).toBe(1);
  vi.advanceTimersByTime(20_000);
  expect(looks()).toBe(5);
  source.close();
  vi.advanceTimersByTime(60_000);
  expect(looks()).toBe(5);
});

test('a console that ends by itself leaves nobody looking', async () => {
  const { console: provided, told, looks } = await follow();
  provided.ended('the server was deleted');
  vi.advanceTimersByTime(60_000);
  expect(looks()).toBe(1);
  expect(told).toEqual(['the server was deleted']);
});

test('a server that was given away is let go of, and told once', async () => {
  const { store, told } = await follow();
  await store.servers.put({ server: 'game:mine', provider: 'panel', ref: 'another', logFile: null });
  vi.advanceTimersByTime(5_000);
  await expect.poll(() => told).toEqual(['closed', 'the server has moved']);
  vi.advanceTimersByTime(60_000);
  expect(told).toHaveLength(2);
});
