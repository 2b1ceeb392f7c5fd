import { auditCommand } from './audit.ts';
import { defineGroup } from './command.ts';
import { feedbackCommand } from './feedback.ts';
import { keysCommand } from './keys.ts';
import { serversCommand } from './servers.ts';

/** All commands of the operator. */
export const operatorCommand = defineGroup(
  { name: 'operator', description: 'API keys, servers, the audit log, and what readers say.' },
  { keys: keysCommand, servers: serversCommand, audit: auditCommand, feedback: feedbackCommand },
);
