import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** A record of a DNS answer. The data is a name, or bytes for other types. */
export interface DnsRecord {
  readonly owner: string;
  readonly type: 'A' | 'NS' | 'CNAME' | 'SOA';
  readonly data: string | Buffer;
}

/** A resolver's answer: `silence` sends nothing, a Buffer is sent unchanged. */
export type DnsAnswer =
  | 'silence'
  | Buffer
  | {
      readonly code?: number;
      readonly answers?: readonly DnsRecord[];
      readonly authority?: readonly DnsRecord[];
      readonly truncated?: boolean;
      /** Replies with the ID or question of another query. */
      readonly id?: number;
      readonly question?: string;
    };

const types = { A: 1, NS: 2, CNAME: 5, SOA: 6 };

/** Starts a DNS server over UDP with the given answers, until the test ends. `seen` lists the queried names. */
export async function createDnsUpstream(answer: (name: string) => DnsAnswer) {
  const seen: string[] = [];
  const reply = (query: Buffer): Buffer | undefined => {
    const name = readQuestion(query);
    seen.push(name);
    const answered = answer(name);
    if (answered === 'silence') return undefined;
    return Buffer.isBuffer(answered) ? answered : write(query, answered);
  };
  const udp = createSocket('udp4');
  udp.on('message', (query, from) => {
    const message = reply(query);
    if (message) udp.send(message, from.port, from.address);
  });
  udp.bind(0, '127.0.0.1');
  await once(udp, 'listening');
  onTestFinished(() => void udp.close());
  return { address: `127.0.0.1:${udp.address().port}`, seen };
}

function readQuestion(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at]; at += query[at]! + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
  return labels.join('.');
}

function write(query: Buffer, answered: Exclude<DnsAnswer, string | Buffer>): Buffer {
  const { code = 0, answers = [], authority = [], truncated = false, id, question } = answered;
  const header = Buffer.from(query.subarray(0, 12));
  if (id !== undefined) header.writeUInt16BE(id & 0xffff, 0);
  header[2] = 0x81 | (truncated ? 2 : 0);
  header[3] = 0x80 | code;
  header.writeUInt16BE(answers.length, 6);
  header.writeUInt16BE(authority.length, 8);
  const section =
    question === undefined ? query.subarray(12) : Buffer.concat([toBytes(question), Buffer.of(0, 2, 0, 1)]);
  return Buffer.concat([header, section, ...[...answers, ...authority].map(toRecord)]);
}

function toRecord({ owner, type, data }: DnsRecord): Buffer {
  const bytes = typeof data === 'string' ? toBytes(data) : data;
  // An owner of "@" is a compression pointer to the question.
  const name = owner === '@' ? Buffer.of(0xc0, 12) : toBytes(owner);
  return Buffer.concat([
    name,
    Buffer.of(0, types[type], 0, 1, 0, 0, 0, 60, bytes.length >> 8, bytes.length & 255),
    bytes,
  ]);
}

function toBytes(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}
