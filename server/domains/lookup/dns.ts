import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { getServers } from 'node:dns';
import { connect, isIPv6 } from 'node:net';
import { readNsReply, writeNsQuery } from './dns-message.ts';
import type { DelegationReply } from './dns-message.ts';

/** A recursive resolver. */
interface Server {
  readonly address: string;
  readonly port: number;
}

/** One after the other is asked where the one before has no answer. */
const serversAsked = 2;

/** Creates the question whether a name is delegated, by resolvers as `ip`, `ip:port` or `[ip]:port`; the system's if left out. */
export function createDelegations(
  servers: readonly string[] | undefined,
  timeoutMs: number,
): (name: string, signal: AbortSignal) => Promise<boolean> {
  /**
   * Whether DNS shows that a name is registered. False proves nothing: registered names may be without name servers,
   * on hold, or too new. Never rejects.
   */
  return async (name, signal) => {
    for (const server of (servers ?? getServers()).slice(0, serversAsked).map(toServer)) {
      const query = writeNsQuery(randomInt(0x10000), name);
      const answer = async (ask: typeof askUdp): Promise<DelegationReply> => {
        const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
        return await ask(server, query, ends).catch(() => 'failed' as const);
      };
      let reply = await answer(askUdp);
      if (reply === 'truncated') reply = await answer(askTcp);
      if (reply === 'delegated') return true;
      if (reply === 'not delegated' || signal.aborted) return false;
    }
    return false;
  };
}

function toServer(text: string): Server {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: Number(port ?? 53) };
}

/** Asks over UDP: from a port of its own for each question, and of this server alone, as the socket is connected. */
function askUdp(server: Server, query: Buffer, signal: AbortSignal): Promise<DelegationReply> {
  const socket = createSocket({ type: isIPv6(server.address) ? 'udp6' : 'udp4', signal });
  return new Promise<DelegationReply>((resolve, reject) => {
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('no answer')));
    socket.on('message', (message) => {
      const reply = readNsReply(message, query);
      // What is not a reply to the question may be somebody's guess at one: the true one may still come.
      if (reply) resolve(reply);
    });
    socket.once('connect', () => socket.send(query));
    socket.connect(server.port, server.address);
  }).finally(() => signal.aborted || socket.close());
}

/** Asks over TCP, where each message is preceded by its length (RFC 1035 §4.2.2). */
async function askTcp(server: Server, query: Buffer, signal: AbortSignal): Promise<DelegationReply> {
  const socket = connect({ host: server.address, port: server.port, signal });
  try {
    socket.write(Buffer.concat([Buffer.of(query.length >> 8, query.length & 255), query]));
    let received = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer]);
      if (received.length < 2) continue;
      const end = 2 + received.readUInt16BE(0);
      if (received.length < end) continue;
      const reply = readNsReply(received.subarray(2, end), query);
      return reply === undefined || reply === 'truncated' ? 'failed' : reply;
    }
    return 'failed';
  } finally {
    socket.destroy();
  }
}
