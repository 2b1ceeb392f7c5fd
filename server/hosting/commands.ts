import type { Audited, AuditedAction } from './audit.ts';
import type { Servers } from './servers.ts';

/** Sends a console command, at most once. Throws a Problem if it fails. */
export type SendCommand = (caller: AuditedAction['caller'], command: string) => Promise<void>;

/** Creates {@link SendCommand} for HTTP and streams. */
export function createSendCommand(servers: Servers, audited: Audited): SendCommand {
  return async (caller, command) => {
    const { record, game } = await servers.findGame(caller.server);
    await audited({ caller, name: 'command', detail: command }, (deadline) =>
      game.command(record.ref, command, deadline),
    );
  };
}
