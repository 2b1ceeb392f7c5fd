import { fault, ok } from '../finding.ts';
import type { Outcome } from '../finding.ts';
import type { Check, Seen } from './types.ts';

const target = '/v1/openapi.json';

/** Whether each client gets the encoding that it accepts, with the same content. */
export const encodings: Check = {
  name: 'encodings',
  async run({ visit }) {
    const read = (accepted: string): Promise<Seen> => visit(target, { headers: { 'Accept-Encoding': accepted } });
    // In this order, a cache that ignores Vary answers the last one compressed.
    const [br, gzip, plain] = [await read('br'), await read('gzip'), await read('identity')];
    return (
      checkPlain(plain) ??
      checkCompressed(gzip, 'gzip', plain) ??
      checkCompressed(br, 'br', plain) ??
      ok('br, gzip and plain, with the same content')
    );
  },
};

function checkPlain(plain: Seen): Outcome | undefined {
  if (plain.header('content-encoding') !== '') {
    return fault(
      `a client that accepts no compression gets ${plain.header('content-encoding')}`,
      'let the cache obey Vary (nginx: no proxy_ignore_headers Vary)',
    );
  }
  if (/\baccept-encoding\b/i.test(plain.header('vary'))) return undefined;
  return fault('Vary does not name Accept-Encoding', 'let the proxy keep Vary, else caches mix the encodings');
}

function checkCompressed(seen: Seen, encoding: string, plain: Seen): Outcome | undefined {
  const received = seen.header('content-encoding');
  if (received !== encoding) {
    return fault(
      `a client that accepts ${encoding} gets ${received || 'no compression'}`,
      'pass on Accept-Encoding, and switch off compression by the proxy: each file is compressed once, when it is built',
    );
  }
  if (seen.text() === plain.text()) return undefined;
  return fault(`the content in ${encoding} is another`, 'empty the cache, and let it obey Vary');
}
