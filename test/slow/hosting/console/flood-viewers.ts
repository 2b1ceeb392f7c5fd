import { createCounter, openClient, toMessage } from '../../../helpers/console-client.ts';
import type { Count } from '../../../helpers/console-client.ts';

/** A message to the parent process. */
export type Report = { readonly ready: true } | { readonly counts: readonly Count[] };

// A separate process: the test measures the memory and CPU time of the relay alone.
const [url, ...tokens] = process.argv.slice(2);

const viewers = await Promise.all(
  tokens.map(async (token) => {
    const client = await openClient(url!, { skipUTF8Validation: true });
    const counter = createCounter();
    await client.auth(token);
    const { promise, resolve } = Promise.withResolvers<void>();
    client.socket.removeAllListeners('message');
    client.socket.on('message', (data) => {
      const message = toMessage((data as Buffer).toString());
      counter.see(message);
      if (message[1] === 'offline') resolve();
    });
    return { counter, ended: promise };
  }),
);
process.send!({ ready: true } satisfies Report);
await Promise.all(viewers.map(({ ended }) => ended));
process.send!({ counts: viewers.map(({ counter }) => counter.count()) } satisfies Report);
process.disconnect();
process.exit();
