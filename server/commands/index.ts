import { auditCommand } from './audit.ts';
import { defineGroup } from './command.ts';
import { domainsCommand } from './domains.ts';
import { feedbackCommand } from './feedback.ts';
import { keysCommand } from './keys.ts';
import { serversCommand } from './servers.ts';

/** All commands of the operator. */
export const operatorCommand = defineGroup(
  { name: 'operator', description: 'API keys, servers, the audit log, what readers say, and the domain search.' },
  {
    keys: keysCommand,
    servers: serversCommand,
    audit: auditCommand,
    feedback: feedbackCommand,
    domains: domainsCommand,
  },
);
