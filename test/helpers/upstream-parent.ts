import { createLog } from '../../server/log.ts';
import { createProviders } from '../../server/hosting/providers.ts';

/** A process that runs one local server. Arguments: the data folder and the command. */
const [, , dataDir, ...command] = process.argv;
const config = {
  here: { type: 'local', servers: { demo: { kind: 'game', command, cwd: dataDir!, env: {}, grace_seconds: 1 } } },
} as const;
const log = createLog({ level: 'silent', destination: process.stdout });
const provider = createProviders(config, { dataDir: dataDir!, log, timeoutMs: 20_000 }).get('here')!;
await provider.game!.power('demo', 'start');
