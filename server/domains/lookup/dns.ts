import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { getServers } from 'node:dns';
import { isIPv6 } from 'node:net';
import { RECURSION_DESIRED, TRUNCATED_RESPONSE, decode, encode } from 'dns-packet';
import type { Packet } from 'dns-packet';
import { announceUpstream } from '../../upstream/client.ts';

/** A resolver's answer about a delegation. `failed`: an error code, or an answer too long for UDP. */
type DnsReply = 'delegated' | 'not delegated' | 'failed';

/** Why no answer came. */
type Failure = 'timeout' | 'invalid' | 'unreachable';

/** Maps each answer to its metrics outcome. */
const outcomes = { delegated: 'ok', 'not delegated': 'not_found', failed: 'server_error' } as const;

interface DelegationOptions {
  /** Resolvers as `ip`, `ip:port` or `[ip]:port`; by default the resolvers of the system. */
  readonly servers: readonly string[] | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Looks for a delegation, which proves registration. False proves nothing: a registered name may have no name servers. */
export async function isDelegated(name: string, options: DelegationOptions): Promise<boolean> {
  for (const ask of askResolvers(name, options)) {
    const reply = await ask();
    if (/delegated/.test(reply) || options.signal.aborted) return reply === 'delegated';
  }
  return false;
}

/** Lists the queries of a search, one for each resolver: the second is used only if the first fails. */
export function askResolvers(name: string, { servers = getServers(), timeoutMs, signal }: DelegationOptions) {
  const publish = announceUpstream('dns');
  return servers.slice(0, 2).map((server) => async () => {
    const questions = [{ type: 'NS' as const, name }];
    const query: Packet = { type: 'query', id: randomInt(0x10000), flags: RECURSION_DESIRED, questions };
    const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const startedAt = performance.now();
    const reply = await queryUdp(toResolver(server), query, ends).catch(({ syscall }: NodeJS.ErrnoException) =>
      ends.aborted ? 'timeout' : syscall === undefined ? 'invalid' : 'unreachable',
    );
    publish(reply in outcomes ? outcomes[reply as DnsReply] : (reply as Failure), performance.now() - startedAt);
    return reply;
  });
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
  const { type, flags = 0, questions: [asked] = [], answers = [] } = decode(message);
  const name = query.questions![0]!.name;
  const isOfName = (record: { readonly type: string; readonly name: string }): boolean =>
    record.type === 'NS' && record.name.toLowerCase() === name;
  if (type !== 'response' || !asked || !isOfName(asked)) return undefined;
  // NOERROR and NXDOMAIN are usable.
  if (flags & TRUNCATED_RESPONSE || ![0, 3].includes(flags & 15)) return 'failed';
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
