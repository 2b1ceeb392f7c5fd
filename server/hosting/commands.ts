import type { Caller } from '../http/handle.ts';
import type { Audited } from './audit.ts';
import type { Sending } from './sending.ts';

/** Sends a console command, at most once. Throws a Problem if it fails. */
export type SendCommand = (
  caller: Pick<Caller, 'keyId' | 'secretHash' | 'server' | 'requestId' | 'trace' | 'ip'>,
  command: string,
) => Promise<void>;

/** Creates {@link SendCommand} for HTTP and streams. */
export function createSendCommand(sending: Sending, audited: Audited): SendCommand {
  return (caller, command) =>
    audited({ caller, name: 'command', detail: command }, async (signal) => {
      const { record, game, confirm } = await sending.findGame({ ...caller, scope: 'game-console:read_write' });
      await game.command(record.ref, command, { signal, confirm, trace: caller.trace });
    });
}
