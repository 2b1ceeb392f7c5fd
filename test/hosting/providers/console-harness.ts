import { onTestFinished } from 'vitest';
import type { ConsoleTimings } from '../../../server/hosting/providers/pterodactyl/session.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createPanelUpstream, panelKeys } from '../../helpers/upstream-panel.ts';
import type { PanelOptions } from '../../helpers/upstream-panel.ts';
import { until } from '../../helpers/upstream.ts';
import type { Seen } from '../../helpers/upstream.ts';
import { recordViewer } from './console-recorder.ts';

/** Matches requests for a console token. */
export const isTokenCall = ({ path }: Seen): boolean => path.endsWith('/websocket');

type Viewer = ReturnType<typeof recordViewer>;

/** Starts a panel with a running server. Viewers reopen a lost console after at least `backoffMs`. */
export async function preparePanel(
  { backoffMs = 20, ...timings }: Partial<ConsoleTimings> & { backoffMs?: number } = {},
  options: PanelOptions = {},
) {
  const upstream = await createPanelUpstream(options);
  const { wings } = upstream;
  wings.become('running');
  const panel = openProvider(upstream.settings, { timings });
  onTestFinished(() => {
    for (const secret of [...Object.values(panelKeys), 'eyJ']) {
      if (panel.written().includes(secret)) throw new Error('a credential is in the log');
    }
  });
  const times: number[] = [];
  upstream.server.on(
    'request',
    ({ url }: { url: string }) => url.endsWith('/websocket') && times.push(performance.now()),
  );
  const open = () => recordViewer(panel.game, wings.uuid, { firstMs: backoffMs, maxMs: Math.max(backoffMs, 100) });
  return {
    upstream,
    wings,
    ...panel,
    /** The times of the token requests. */
    times,
    open,
    /** Opens a console and waits until it is live. */
    follow: async () => {
      const viewer = open();
      await until('the history was requested', () => wings.logsSent() > 0);
      return viewer;
    },
    /** Waits until this many tokens were used. */
    authorized: (count: number) => until(`token ${count} was used`, () => wings.auths.length === count),
    /** Prints a line, and waits until a viewer has received the line. */
    print: async (record: Viewer, line: string): Promise<void> => {
      wings.print(line);
      await record.received(line);
    },
  };
}

/** Starts a panel with a running server and a live console. */
export async function followPanel(...options: Parameters<typeof preparePanel>) {
  const panel = await preparePanel(...options);
  return { ...panel, record: await panel.follow() };
}
