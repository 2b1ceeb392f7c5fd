import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { getServers } from 'node:dns';
import { connect, isIPv6 } from 'node:net';
import { RECURSION_DESIRED, decode, encode, streamEncode } from 'dns-packet';
import type { Packet } from 'dns-packet';
import { announceUpstream } from '../../upstream/client.ts';

/** A resolver's answer about a delegation. `failed`: an error code; `truncated`: the full answer needs TCP. */
type DnsReply = 'delegated' | 'not delegated' | 'failed' | 'truncated';

/** Maps each answer, and each failure without an answer, to its metrics outcome. */
const outcomes = {
  ...({ delegated: 'ok', truncated: 'ok', 'not delegated': 'not_found', failed: 'server_error' } as const),
  ...({ timeout: 'timeout', unreachable: 'unreachable', invalid: 'invalid' } as const),
};

interface AskOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

interface DelegationOptions extends AskOptions {
  /** Resolvers as `ip`, `ip:port` or `[ip]:port`; by default the resolvers of the system. */
  readonly servers: readonly string[] | undefined;
}

/** Looks for a delegation, which proves registration. False proves nothing: a registered name may have no name servers. */
export async function isDelegated(name: string, { servers, ...options }: DelegationOptions): Promise<boolean> {
  for (const server of toUsed(servers)) {
    const reply = await askResolver(server, name, options);
    if (/delegated/.test(reply) || options.signal.aborted) return reply === 'delegated';
  }
  return false;
}

/** Selects the resolvers that a search asks, the second only if the first fails. */
export const toUsed = (servers: readonly string[] = getServers()): readonly string[] => servers.slice(0, 2);

/** Asks a resolver for the delegation of a name, over TCP if necessary. */
export async function askResolver(
  server: string,
  name: string,
  { timeoutMs, signal }: AskOptions,
): Promise<keyof typeof outcomes> {
  const publish = announceUpstream('dns');
  const ask = async (send: typeof queryUdp) => {
    const questions = [{ type: 'NS' as const, name }];
    const query: Packet = { type: 'query', id: randomInt(0x10000), flags: RECURSION_DESIRED, questions };
    const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const startedAt = performance.now();
    const reply = await send(toResolver(server), query, ends).catch((error: NodeJS.ErrnoException) => {
      if (ends.aborted) return 'timeout';
      return error.syscall === undefined ? 'invalid' : 'unreachable';
    });
    publish(outcomes[reply], performance.now() - startedAt);
    return reply;
  };
  const reply = await ask(queryUdp);
  return reply === 'truncated' && !signal.aborted ? ask(queryTcp) : reply;
}

type Resolver = ReturnType<typeof toResolver>;

function toResolver(text: string) {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: Number(port ?? 53) };
}

/**
 * Parses a reply; undefined if it belongs to another query, throws if malformed. Node's own resolver does not
 * distinguish an NS record of exactly this name from a record of its parent or alias.
 */
function readReply(message: Buffer, query: Packet): DnsReply | undefined {
  if (message.length < 4 || message.readUInt16BE(0) !== query.id) return undefined;
  if (message[2]! & 2) return 'truncated';
  const { type, flags = 0, questions: [asked] = [], answers = [] } = decode(message);
  const name = query.questions![0]!.name;
  const isOfName = (record: { readonly type: string; readonly name: string }): boolean =>
    record.type === 'NS' && record.name.toLowerCase() === name;
  if (type !== 'response' || !asked || !isOfName(asked)) return undefined;
  // NOERROR and NXDOMAIN are usable.
  if (![0, 3].includes(flags & 15)) return 'failed';
  return answers.some(isOfName) ? 'delegated' : 'not delegated';
}

/** Queries over UDP, each from a new port; the connected socket receives only from this server. */
function queryUdp({ address, port }: Resolver, query: Packet, signal: AbortSignal): Promise<DnsReply> {
  const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', signal });
  return new Promise<DnsReply>((resolve, reject) => {
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('no answer')));
    socket.on('message', (message) => {
      try {
        const reply = readReply(message, query);
        // Ignore other messages, which may be forged: the real reply may still arrive.
        if (reply) resolve(reply);
      } catch (error) {
        reject(error);
      }
    });
    socket.once('connect', () => socket.send(encode(query)));
    socket.connect(port, address);
  }).finally(() => signal.aborted || socket.close());
}

/** Queries over TCP, where each message has a length prefix (RFC 1035 §4.2.2). */
async function queryTcp({ address, port }: Resolver, query: Packet, signal: AbortSignal): Promise<DnsReply> {
  const socket = connect({ host: address, port, signal });
  try {
    socket.write(streamEncode(query));
    let received = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) continue;
      const reply = readReply(received.subarray(2), query);
      return reply === undefined || reply === 'truncated' ? 'failed' : reply;
    }
    return 'failed';
  } finally {
    socket.destroy();
  }
}
