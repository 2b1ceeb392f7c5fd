import { existsSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** A checkout of this project with its packages installed: this one, or the one given by `--before`. */
export interface Checkout {
  readonly name: 'ours' | 'before';
  readonly root: string;
  /** The entry file of the generator. */
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

/** This checkout, and the one of `--before` if a folder is given. Throws if that one cannot be run. */
export function openCheckouts(before: string | undefined): Checkout[] {
  const ours = toCheckout('ours', resolve(import.meta.dirname, '../..'));
  if (before === undefined) return [ours];
  const other = toCheckout('before', resolve(before));
  for (const needed of [other.generator, other.server.at(-1)!, join(other.root, 'node_modules')]) {
    if (!existsSync(needed)) throw new Error(`--before: ${needed} does not exist`);
  }
  return [ours, other];
}

/** Turns the name of a row of ours into the name of the same row of another checkout. */
export function toName({ name }: Pick<Checkout, 'name'>, row: string): string {
  return row.replace('ours', name);
}

/** The row of the `before` checkout that a row of ours is compared with; undefined for other rows. */
export function toBefore(row: string): string | undefined {
  return row.includes('ours') ? toName({ name: 'before' }, row) : undefined;
}

/** Turns a row name of any checkout into that of ours; rows of peers keep their name. */
export function toOurs(row: string): string {
  return row.replace('before', 'ours');
}

/** The folder with the `v1` files of a release or a `dev` output. Releases of an older checkout have no `public`. */
export function publicFolder(release: string): string {
  const folder = join(release, 'public');
  return existsSync(folder) ? folder : release;
}

/** Switches a link to another release atomically, as a build does. */
export function switchTo(link: string, release: string): void {
  const next = `${link}.next`;
  symlinkSync(release, next);
  renameSync(next, link);
}
