import type { Command } from '@commander-js/extra-typings';
import { CommandError } from '#common/command-line.ts';
import type { Context } from './context.ts';
import { parseKeyId } from './inputs.ts';
import { toPrintable } from './text.ts';
import { unknownKey } from './unknown.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Adds `keys explain`. */
export function addExplain(keys: Command, { withStore, print }: Context): void {
  keys
    .command('explain')
    .description(
      'Says what the server would answer to a request with an API key, and which rule decides: path, method, key, server, ' +
        'scope, or suspension. Nothing is sent. Limits, query and body are not looked at. Exit status 0: allowed, 1: refused.',
    )
    .argument('<id>', 'the id of the key', parseKeyId)
    .argument('<method>', 'GET, POST, ...', parseMethod)
    .argument('<path>', 'for instance /v1/hosting/game/power/ID/start', parsePath)
    .option('--json', 'print a JSON object')
    .action(async (id, method, path, { json }) => {
      // The app and its HTTP stack are loaded for this command only.
      const { explain } = await import('../explain.ts');
      const { status, code, reason } = await withStore(async (store) => {
        const key = await store.apiKeys.find(id);
        if (!key) throw await unknownKey(store, id);
        return await explain(store, key, { method, path });
      });
      const allowed = code === 'allowed';
      const sentence = toPrintable(`${status} ${code}: ${reason}`);
      await print(json ? JSON.stringify({ id, method, path, allowed, status, code, reason }) : sentence);
      if (!allowed) throw new CommandError('');
    });
}

function parseMethod(text: string): string {
  const method = text.toUpperCase();
  if (methods.includes(method)) return method;
  throw new CommandError(`METHOD must be one of ${methods.join(', ')}`);
}

/** Parses a path or a URL; what a client cannot send is refused. */
function parsePath(text: string): string {
  if (/^(?:\/|https?:\/\/)[\x21-\x7e]*$/i.test(text) && text.length <= 8000) return text;
  throw new CommandError(
    'PATH must begin with /, and hold neither spaces nor characters beyond ASCII: write them as %20',
  );
}
