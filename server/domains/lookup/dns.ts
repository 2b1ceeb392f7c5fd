import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { getServers } from 'node:dns';
import { connect, isIPv6 } from 'node:net';
import { RECURSION_DESIRED, decode, encode, streamEncode } from 'dns-packet';
import type { Packet } from 'dns-packet';

/** A recursive resolver. */
interface Server {
  readonly address: string;
  readonly port: number;
}

/** What a resolver said of a delegation. `failed`: it could not tell; `truncated`: it says more over TCP. */
type Reply = 'delegated' | 'not delegated' | 'failed' | 'truncated';

/** One after the other is asked where the one before has no answer. */
const serversAsked = 2;

/** Who is asked, and for how long. */
export interface DelegationOptions {
  /** Resolvers as `ip`, `ip:port` or `[ip]:port`; the system's if left out. */
  readonly servers: readonly string[] | undefined;
  /** For each answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Whether DNS shows that a name is registered. False proves nothing: registered names may be without name servers, on
 * hold, or too new. Never rejects.
 */
export async function isDelegated(
  name: string,
  { servers = getServers(), timeoutMs, signal }: DelegationOptions,
): Promise<boolean> {
  for (const server of servers.slice(0, serversAsked).map(toServer)) {
    const questions = [{ type: 'NS' as const, name }];
    const query: Packet = { type: 'query', id: randomInt(0x10000), flags: RECURSION_DESIRED, questions };
    const answer = async (ask: typeof askUdp): Promise<Reply> => {
      const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      return await ask(server, query, ends).catch(() => 'failed' as const);
    };
    let reply = await answer(askUdp);
    if (reply === 'truncated') reply = await answer(askTcp);
    if (reply === 'delegated') return true;
    if (reply === 'not delegated' || signal.aborted) return false;
  }
  return false;
}

function toServer(text: string): Server {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: Number(port ?? 53) };
}

/**
 * Reads what came for a query; undefined where it is not the reply to it. Only an NS record of exactly the name is a
 * delegation, not one of its parent, or of what it is an alias of: Node's own resolver does not tell them apart. Throws
 * where the reply is malformed.
 */
function readReply(message: Buffer, query: Packet): Reply | undefined {
  if (message.length < 4 || message.readUInt16BE(0) !== query.id) return undefined;
  if (message[2]! & truncatedBit) return 'truncated';
  const { type, flags = 0, questions: [asked] = [], answers = [] } = decode(message);
  const name = query.questions![0]!.name;
  const isOfName = (record: { readonly type: string; readonly name: string }): boolean =>
    record.type === 'NS' && record.name.toLowerCase() === name;
  if (type !== 'response' || !asked || !isOfName(asked)) return undefined;
  const code = flags & 15;
  if (code !== 0 && code !== nameError) return 'failed';
  return answers.some(isOfName) ? 'delegated' : 'not delegated';
}

const truncatedBit = 2;
const nameError = 3;

/** Asks over UDP: from a port of its own for each question, and of this server alone, as the socket is connected. */
function askUdp(server: Server, query: Packet, signal: AbortSignal): Promise<Reply> {
  const socket = createSocket({ type: isIPv6(server.address) ? 'udp6' : 'udp4', signal });
  return new Promise<Reply>((resolve, reject) => {
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('no answer')));
    socket.on('message', (message) => {
      try {
        const reply = readReply(message, query);
        // What is not a reply to the question may be somebody's guess at one: the true one may still come.
        if (reply) resolve(reply);
      } catch (error) {
        reject(error);
      }
    });
    socket.once('connect', () => socket.send(encode(query)));
    socket.connect(server.port, server.address);
  }).finally(() => signal.aborted || socket.close());
}

/** Asks over TCP, where each message is preceded by its length (RFC 1035 §4.2.2). */
async function askTcp(server: Server, query: Packet, signal: AbortSignal): Promise<Reply> {
  const socket = connect({ host: server.address, port: server.port, signal });
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
