/** What a DNS server said about a delegation. `failed`: it could not tell; `truncated`: it says more over TCP. */
export type DelegationReply = 'delegated' | 'not delegated' | 'failed' | 'truncated';

const typeNs = 2;
const classIn = 1;

/** Writes the question for the name servers of a name (RFC 1035 §4.1), to be answered recursively. */
export function writeNsQuery(id: number, name: string): Buffer {
  const header = Buffer.from([id >> 8, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label, 'latin1')]));
  return Buffer.concat([header, ...labels, Buffer.of(0, 0, typeNs, 0, classIn)]);
}

/**
 * Reads the reply to that question; undefined where it is not a reply to it. Only an NS record of exactly the name is
 * a delegation, and not one of its parent, or of what it is an alias of: Node's own resolver does not tell them apart.
 */
export function readNsReply(message: Buffer, query: Buffer): DelegationReply | undefined {
  try {
    if (!isReplyTo(message, query)) return undefined;
    if (message[2]! & 2) return 'truncated';
    const code = message[3]! & 15;
    if (code === 3) return 'not delegated';
    if (code !== 0) return 'failed';
    const name = readName(query, 12).name;
    let at = query.length;
    for (let left = message.readUInt16BE(6); left > 0; left -= 1) {
      const owner = readName(message, at);
      const isNs = message.readUInt16BE(owner.end) === typeNs && message.readUInt16BE(owner.end + 2) === classIn;
      at = owner.end + 10 + message.readUInt16BE(owner.end + 8);
      if (at > message.length) return 'failed';
      if (isNs && owner.name === name) return 'delegated';
    }
    return 'not delegated';
  } catch {
    return 'failed';
  }
}

/** Whether it has the id and the question of the query; the letters' case may differ. */
function isReplyTo(message: Buffer, query: Buffer): boolean {
  if (message.length < query.length || message.readUInt16BE(0) !== query.readUInt16BE(0)) return false;
  const isReply = (message[2]! & 0x80) !== 0 && message.readUInt16BE(4) === 1;
  const question = (of: Buffer): string => of.toString('latin1', 12, query.length).toLowerCase();
  return isReply && question(message) === question(query);
}

/** Reads a name, in lower case, and where it ends. Throws a RangeError where it leads out of the message. */
function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let end: number | undefined;
  for (let at = start, steps = 0; steps < 128; steps += 1) {
    const length = message.readUInt8(at);
    if (length === 0) return { name: labels.join('.').toLowerCase(), end: end ?? at + 1 };
    if (length < 64) {
      labels.push(message.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    } else {
      // A pointer to the rest of the name; the first one ends it here.
      end ??= at + 2;
      at = message.readUInt16BE(at) & 0x3fff;
    }
  }
  throw new RangeError('a name without an end');
}
