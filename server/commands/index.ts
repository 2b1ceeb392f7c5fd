import { auditCommand } from './audit.ts';
import { defineGroup } from './command.ts';
import { keysCommand } from './keys.ts';
import { serversCommand } from './servers.ts';

/** All commands of the operator. */
export const operatorCommand = defineGroup(
  { name: 'operator', description: 'API keys, servers and the audit log.' },
  { keys: keysCommand, servers: serversCommand, audit: auditCommand },
);
