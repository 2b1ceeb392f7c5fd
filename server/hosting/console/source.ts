import type { ServerName } from '#contract/api-keys.ts';
import type { ConsoleEvents, ConsoleSource } from '../providers/types.ts';
import type { Servers } from '../servers.ts';

/** How often the record of a followed server is checked. */
const recordCheckMs = 5000;

/**
 * Follows the console of a game server until its record changes: after a server was reassigned, its former customer must
 * not see the console.
 */
export async function openConsoleSource(
  servers: Servers,
  server: ServerName,
  events: ConsoleEvents,
): Promise<ConsoleSource> {
  const { record, game } = await servers.findGame(server);
  const check = async (): Promise<void> => {
    if (await servers.isCurrent(record)) return;
    source.close();
    end('the server has moved');
  };
  const timer = setInterval(() => void check(), recordCheckMs);
  const end = (reason: string): void => {
    clearInterval(timer);
    events.ended(reason);
  };
  const source = game.openConsole(record.ref, { ...events, ended: end });
  return {
    stats: () => source.stats(),
    close() {
      clearInterval(timer);
      source.close();
    },
  };
}
