import { z } from 'zod';
import { Scope, serverPattern } from '#contract/api-keys.ts';
import { endpointDefaults, json } from '#contract/endpoint.ts';
import type { Endpoint, OperatorRight } from '#contract/endpoint.ts';
import { future, keyFields, rotated, rotation as overlap } from '#contract/keys.ts';
import { named, object, success, text } from '#contract/primitives.ts';
import type { ProblemCode } from '#contract/problem.ts';

/** One line of text: databases and terminals cannot take all other characters. */
const line = (maximum: number, description: string) => {
  const form = new RegExp(`^[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}]{1,${maximum}}$`, 'u');
  return text(description, form, `must be a line of 1 to ${maximum} characters`);
};
const name = text('Name of the server.', serverPattern, 'must be vps:<id> or game:<id>');
const keyRule = 'must be 1 to 100 letters, digits, dots, hyphens, underscores and spaces, and not the text of a key';
const keyName = text('Label or ID of the key.', /^(?!h[ko]_[A-Za-z0-9]{12}_)[\w.][\w. -]{0,99}$/, keyRule);
const time = z.iso.datetime().nullable();
const flag = z.boolean();
const label = z.string();
const warnings = z.array(label).describe('What could not be checked, as sentences for people.');
const next = label.nullable().describe('Value of after for the next page; null on the last page.');

const target = { provider: line(100, 'Name of the provider in PROVIDERS_FILE.'), ref: line(255, 'Its ID there.') };
const log_file = line(1000, "Path of the latest log; null for the provider's default.").nullable();
const keyCount = z.int().nonnegative().max(1e9).describe('Number of valid keys that open the server.');
const madeBy = label.nullable().describe('Label of the token that put the server.');
const state = { log_file, shared: flag, suspended_at: time, keys: keyCount, made_by: madeBy };
const server = { server: name, ...target, ...state };
const Server = object('OperatorServer', 'A server of a customer.', server);
const ServerReply = object('OperatorServerResponse', 'A server.', { success, ...server, warnings });
const servers = z.array(Server).describe('At most 1,000 servers.');
const ServersReply = object('OperatorServersResponse', 'A page of servers, by name.', { success, servers, next });
const options = { shared: flag.optional(), suspended: flag.optional(), replace: flag.optional() };
const request = { ...target, log_file: log_file.optional(), ...options };
const serverExample = { provider: 'panel', ref: '1a7ce997' };
const ServerRequest = object('OperatorServerRequest', 'The record of a server.', request, serverExample);

const parent = label.nullable().describe('ID of the key that made this child key; else null.');
const key = { ...keyFields, manages_keys: flag, parent };
const Key = object('OperatorKey', 'An API key.', key);
const shown = { success, ...key, key: label.nullable().describe('Text of a new key; else null.'), warnings };
const KeyReply = object('OperatorKeyResponse', 'An API key.', shown);
const keys = z.array(Key).describe('At most 1,000 keys.');
const KeysReply = object('OperatorKeysResponse', 'A page of API keys, by ID.', { success, keys, next });
const scopes = z.array(named('OperatorScope', 'A scope of API keys.', Scope)).min(1);
const listed = z.array(name).min(1).max(1000);
const grant = { servers: listed, scopes, expires_at: future.nullable().optional(), manages_keys: flag.optional() };
const grantExample = { servers: ['game:4821'], scopes: ['game-power:read_write', 'game-logs:read'] };
const KeyRequest = object('OperatorKeyRequest', 'The permissions of an API key.', grant, grantExample);
const RotationRequest = object('OperatorRotationRequest', 'How long the old secret stays valid.', overlap);
const RotationReply = object('OperatorRotationResponse', 'The new text of an API key, shown once.', rotated);
const TokenReply = object('OperatorResponse', 'An operator token.', { success, label, rights: z.array(label) });

/** Creates an entry; an address with `{server}` or `{name}` is of one server or key. */
function entry<const Right extends OperatorRight | 'any', const More extends Pick<Endpoint, 'body' | 'query'>>(
  right: Right,
  address: `${Endpoint['method']} /v1/operator${string}`,
  description: string,
  reply: z.ZodType,
  more: More = {} as More,
) {
  const [method, path] = address.split(' ') as [Endpoint['method'], string];
  const segment = path.includes('{server}') ? name : path.includes('{name}') ? keyName : undefined;
  const changes: readonly ProblemCode[] = method === 'GET' ? ['validation_error'] : ['validation_error', 'conflict'];
  return {
    ...endpointDefaults,
    ...({ tag: 'Operators', errorStyle: 'json' } as const),
    right,
    method,
    path,
    // Imperative, as a title.
    summary: description
      .slice(0, -1)
      .replaceAll(/\b([A-Z][a-z]+|replace|change)s(?= (?:it|a|an|label|servers|API)\b)/g, '$1'),
    description,
    ...(segment && { segment }),
    replies: { 200: json('Done.', reply), ...(method === 'PUT' && { 201: json('Created.', reply) }) },
    problems: segment ? ([...changes, 'not_found'] as const) : changes,
    ...more,
  };
}
const after = text('The field next of the previous page.').max(200).optional();
const mine = z.enum(['true', 'false']).optional().describe('true: only servers that this token put.');
const ofServers = { query: z.object({ after, mine }) };
const ofKeys = { query: z.object({ after, server: name.optional() }) };
const serverBody = { body: { schema: ServerRequest, required: true } } as const;
const keyBody = { body: { schema: KeyRequest, required: true, maxBytes: 65_536 } } as const;
const rotation = { body: { schema: RotationRequest, required: false } } as const;
const one = '/v1/operator/servers/{server}';
const oneKey = '/v1/operator/keys/{name}';

/** The operations of the operators' port; the public port has none of them. */
export const operatorEndpoints = {
  getOperator: entry('any', 'GET /v1/operator', 'Returns label and rights of the token.', TokenReply),
  listOperatorServers: entry('servers', 'GET /v1/operator/servers', 'Lists servers by name.', ServersReply, ofServers),
  getOperatorServer: entry('servers', `GET ${one}`, 'Returns a server.', ServerReply),
  putOperatorServer: entry('servers', `PUT ${one}`, 'Registers a server, or replaces it.', ServerReply, serverBody),
  deleteOperatorServer: entry('servers', `DELETE ${one}`, 'Removes a server, also from all keys.', ServerReply),
  suspendOperatorServer: entry('servers', `POST ${one}/suspend`, 'Suspends a server: its keys get 403.', ServerReply),
  resumeOperatorServer: entry(
    'servers',
    `POST ${one}/resume`,
    'Resumes a server, unless staff suspended it.',
    ServerReply,
  ),
  listOperatorKeys: entry('keys', 'GET /v1/operator/keys', 'Lists API keys by ID, ended ones too.', KeysReply, ofKeys),
  putOperatorKey: entry('keys', `PUT ${oneKey}`, 'Creates a key with this label, or changes it.', KeyReply, keyBody),
  deleteOperatorKey: entry('keys', `DELETE ${oneKey}`, 'Revokes a key for good.', KeyReply),
  rotateOperatorKey: entry('keys', `POST ${oneKey}/rotate`, 'Gives a key a new secret.', RotationReply, rotation),
};
