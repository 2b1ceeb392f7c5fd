import { existsSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** A checkout of this project, with its packages installed: this one, or another that it is compared with. */
export interface Checkout {
  readonly name: 'ours' | 'before';
  readonly root: string;
  /** The program of the generator. */
  readonly generator: string;
  /** The arguments of Node.js that start the server, as `npm run serve` does. */
  readonly server: readonly string[];
}

function toCheckout(name: Checkout['name'], root: string): Checkout {
  return {
    name,
    root,
    generator: join(root, 'generator/main.js'),
    server: [...readServeFlags(root), join(root, 'server/main.js')],
  };
}

/** The flags of Node.js in the script `serve`. */
function readServeFlags(root: string): string[] {
  const file = join(root, 'package.json');
  if (!existsSync(file)) return [];
  const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { scripts: { serve: string } };
  return scripts.serve.split(' ').filter((part) => part.startsWith('--'));
}

/** This checkout, and the one before where a folder is given. Throws where that one cannot be run. */
export function openCheckouts(before: string | undefined): Checkout[] {
  const ours = toCheckout('ours', resolve(import.meta.dirname, '../..'));
  if (before === undefined) return [ours];
  const other = toCheckout('before', resolve(before));
  for (const needed of [other.generator, other.server.at(-1)!, join(other.root, 'node_modules')]) {
    if (!existsSync(needed)) throw new Error(`--before: ${needed} does not exist`);
  }
  return [ours, other];
}

/** The name of a row of one checkout, from that of the same row of ours. */
export function toName({ name }: Pick<Checkout, 'name'>, row: string): string {
  return row.replace('ours', name);
}

/** The row of the checkout before that a row of ours is compared with; nothing for other rows. */
export function toBefore(row: string): string | undefined {
  return row.includes('ours') ? toName({ name: 'before' }, row) : undefined;
}

/** The name of the same row of ours; rows of peers have one name only. */
export function toOurs(row: string): string {
  return row.replace('before', 'ours');
}

/** The folder of a release, or of what `dev` wrote, that holds the files of `v1`: releases of before have no `public`. */
export function publicFolder(release: string): string {
  const folder = join(release, 'public');
  return existsSync(folder) ? folder : release;
}

/** Makes a link lead to another release in one step, as a build does. */
export function switchTo(link: string, release: string): void {
  const next = `${link}.next`;
  symlinkSync(release, next);
  renameSync(next, link);
}
