import { onTestFinished, vi } from 'vitest';
import type { LocalServer } from '../../../server/hosting/providers/local/process.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createSupervisor } from '../../helpers/upstream-process.ts';
import { openProvider } from '../../helpers/provider.ts';
import { until } from '../../helpers/upstream.ts';
import { followConsole } from './console-recorder.ts';

/** Creates a provider of local servers with harmless defaults. */
export function createLocal(servers: Readonly<Record<string, Partial<LocalServer>>>) {
  const folder = temporaryFolder();
  const defaults: LocalServer = { kind: 'game', command: ['false'], cwd: folder, env: {}, grace_seconds: 10 };
  const complete = Object.entries(servers).map(([ref, server]) => [ref, { ...defaults, ...server }] as const);
  return openProvider({ type: 'local', servers: Object.fromEntries(complete) }, { folder });
}

/** Creates a provider with one game server that runs a test program. */
export async function prepareLocal(server: Partial<LocalServer> = {}, mode?: 'ignore-sigterm') {
  const supervisor = await createSupervisor();
  const local = createLocal({ demo: { command: supervisor.command('demo', mode), ...server } });
  return { supervisor, ...local };
}

/** Creates a provider with one running game server. */
export async function prepareRunning(server: Partial<LocalServer> = {}, mode?: 'ignore-sigterm') {
  const local = await prepareLocal(server, mode);
  await local.game.power('demo', 'start');
  return { ...local, program: await local.supervisor.started('demo') };
}

/** Records the signals that this process sends. */
export function spyOnSignals() {
  const kill = vi.spyOn(process, 'kill');
  onTestFinished(() => kill.mockRestore());
  return {
    kill,
    /** The signals sent to process groups, without the existence checks (signal 0). */
    sent: () => kill.mock.calls.map(([, signal]) => signal).filter((signal) => signal !== 0),
    groupGone: () => until('its group is gone', () => kill.mock.results.some(({ type }) => type === 'throw')),
  };
}

/** Creates a provider with one running game server, and records its console. */
export async function prepareRecorded(server: Partial<LocalServer> = {}, mode?: 'ignore-sigterm') {
  const local = await prepareRunning(server, mode);
  const record = await followConsole(local.game, 'demo');
  return { ...local, record };
}
