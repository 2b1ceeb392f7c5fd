import type { Command } from '@commander-js/extra-typings';
import { operatorRights } from '#contract/endpoint.ts';
import { CommandError, requireOptions } from '#common/command-line.ts';
import { toBlockList } from '../http/request.ts';
import { createSecret } from '../keys/authorize.ts';
import { commandLine, createChanges } from '../operators/changes.ts';
import type { OperatorToken } from '../store/types.ts';
import { parseKeyId, parser, repeatable, textOption } from './context.ts';
import type { Context } from './context.ts';
import { parseExpiry, parseOverlap, toRows } from './keys.ts';

const rights = operatorRights.join(' or ');
const parseRight = parser(`--right must be ${rights}`, (text) => operatorRights.find((right) => right === text));
const parseNetwork = parser('--network must be an IP address, or a network such as 10.0.0.0/8', (text) =>
  toBlockList([text]) ? text : undefined,
);

/** Adds `operators create | list | rotate | revoke`. */
export function addOperatorsCommands(program: Command, { withStore, show, printNote, columns }: Context): void {
  const showToken = (outcome: string, token: OperatorToken, text: string, json?: boolean) => {
    printNote(`operator token ${token.id} ${outcome}. Its text is shown only once:`);
    const { id, label, rights: granted, networks } = token;
    return show(json, { id, token: text, label, rights: granted, networks }, text);
  };
  const operators = program
    .command('operators')
    .description('Tokens for the port of a billing system (OPERATOR_PORT).');
  operators
    .command('create')
    .description('Creates an operator token and prints its text once.')
    .option('--label <TEXT>', 'a name for the token, which no other active token has', textOption('--label', 100))
    .option('--right <R>', `a right of the token, ${rights}; repeatable`, repeatable(parseRight))
    .option('--network <CIDR>', 'a network that may use the token; repeatable; default any', repeatable(parseNetwork))
    .option('--expires <DATE>', 'YYYY-MM-DD (until its end in UTC) or an ISO time; default never', parseExpiry)
    .option('--json', 'print a JSON object')
    .action(async ({ right = [], network: networks = [], expires, json, ...flags }) => {
      const { label } = requireOptions({ label: flags.label, right });
      const { record, text } = createSecret('ho', { label, rights: right, networks, expiresAt: expires?.end ?? null });
      await withStore(async (store) => {
        const before = await store.operators.findNewest(label);
        const values = { label: JSON.stringify(label), rights: right.join(','), networks: networks.join(',') || null };
        const apply = async () => ((await store.operators.createIfAbsent(record)) ? 'exists' : true);
        const entry = { action: 'operators create', keyId: record.id, values };
        if (!(await createChanges(store, commandLine).change(entry, apply)))
          throw new CommandError(`an active token has the label ${label}: revoke it, or choose another label`);
        if (before) printNote(`note: servers that the ended token ${before.id} put are servers of this token, too`);
      }, true);
      await showToken('is created', record, text, json);
    });
  operators
    .command('list')
    .description('Lists the operator tokens, oldest first.')
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const records = await withStore((store) => store.operators.list());
      const { described, table } = toRows(records, ['rights', 'networks'], columns);
      await show(json, described, table);
    });
  operators
    .command('rotate')
    .description('Gives an operator token a new secret and prints the new text once.')
    .argument('<id>', 'the id of the token', parseKeyId)
    .option('--overlap <24h>', 'how long the old secret stays valid: 90s, 15m, 24h, 7d', parseOverlap, 0)
    .option('--json', 'print a JSON object')
    .action(async (id, { overlap, json }) => {
      const changed = await withStore((store) => createChanges(store, commandLine).rotateToken(id, overlap));
      const old = overlap > 0 ? `is valid until ${changed.oldUntil}` : 'is no longer valid';
      await showToken(`has a new secret; the old secret ${old}`, changed.key, changed.text, json);
    });
  operators
    .command('revoke')
    .description('Revokes an operator token for good, from the next request on.')
    .argument('<id>', 'the id of the token', parseKeyId)
    .option('--with-keys', 'revoke the API keys that it made, gave a secret, or gave more permissions, too')
    .option('--json', 'print a JSON object')
    .action(async (id, { withKeys = false, json }) => {
      const keys = await withStore((store) => createChanges(store, commandLine).revokeToken(id, withKeys));
      const text = [`operator token ${id} is revoked`, ...keys.map((key) => `API key ${key} is revoked`)].join('\n');
      await show(json, { id, ...(withKeys && { keys }) }, text);
    });
}
