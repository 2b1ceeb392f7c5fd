import { staticFiles } from '#contract/static-files.ts';
import type { ServedFileName } from '#contract/static-files.ts';
import type { ServedFile } from '#contract/endpoint.ts';
import { handle } from '../http/handle.ts';
import type { Route } from '../http/handle.ts';
import { toStoredJson } from '../http/stored.ts';
import type { StoredFile } from '../http/stored.ts';
import { Problem } from '../problem.ts';
import type { Releases } from './service.ts';

const emptyList = toStoredJson([]);

/** A 404 of content. Caches keep it for a moment: a dead link on a busy page would send every visitor here. */
export const cached = { headers: { 'Cache-Control': 'public, max-age=10' } };

/** The routes that serve files of the release: one for each static file with an endpoint. */
export function contentRoutes(releases: Releases) {
  const find = (target: string): StoredFile | undefined => releases.current().find(target);
  const toRoute = (name: ServedFileName): Route => {
    const { path, absent, isImmutable = false }: ServedFile = staticFiles[name];
    return handle(name, ({ query, rest }) => {
      const [parameter] = Object.entries<string>(query);
      // The first page of /docs is at /docs/ too.
      const address = rest === '' ? path.replace(/\/\{\w+\*\}$/, '') : path.replace(/\{\w+\*?\}/, () => rest);
      const target = address + (parameter ? `?${parameter.join('=')}` : '');
      const file = find(target);
      if (file) return file;
      // Every release has the list of all.
      if (absent === undefined || (absent === 'empty_list' && !parameter))
        throw new Error(`${target} is not in the release`);
      if (absent === 'empty_list') return emptyList;
      throw new Problem(absent, undefined, isImmutable ? {} : cached);
    });
  };
  const names = Object.entries(staticFiles).flatMap(([name, file]) => ('path' in file ? [name as ServedFileName] : []));
  return {
    ...(Object.fromEntries(names.map((name) => [name, toRoute(name)])) as Record<ServedFileName, Route>),
    getRoot: handle('getRoot', () => ({ to: '/docs' })),
  };
}
