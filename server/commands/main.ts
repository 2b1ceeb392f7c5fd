import { existsSync } from 'node:fs';
import { readStoreEnv } from '../store/env.ts';
import { openStore } from '../store/index.ts';
import type { Store } from '../store/types.ts';
import { createAuditCommand } from './audit.ts';
import { defineGroup } from './command.ts';
import { createKeysCommand } from './keys.ts';
import { runCommandLine } from './run.ts';
import { createServersCommand } from './servers.ts';

if (existsSync('.env')) process.loadEnvFile();

// oxlint-disable-next-line node/no-process-env -- An entry of its own, which reads the settings once and passes them down.
const open = (): Promise<Store> => openStore(readStoreEnv(process.env));

await runCommandLine(
  defineGroup(
    { name: 'operator', description: 'API keys, servers and the audit log.' },
    { keys: createKeysCommand(open), servers: createServersCommand(open), audit: createAuditCommand(open) },
  ),
  process.argv.slice(2),
);
