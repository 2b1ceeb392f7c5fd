import { existsSync, renameSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** A checkout of this project, with its packages installed: this one, or another that it is compared with. */
export interface Checkout {
  readonly name: 'ours' | 'before';
  readonly root: string;
  /** The program of the generator. */
  readonly generator: string;
  /** The program of the server. */
  readonly server: string;
}

function toCheckout(name: Checkout['name'], root: string): Checkout {
  return { name, root, generator: join(root, 'generator/main.js'), server: join(root, 'server/main.js') };
}

/** This checkout, and the one before where a folder is given. Throws where that one cannot be run. */
export function openCheckouts(before: string | undefined): Checkout[] {
  const ours = toCheckout('ours', resolve(import.meta.dirname, '../..'));
  if (before === undefined) return [ours];
  const other = toCheckout('before', resolve(before));
  for (const needed of [other.generator, other.server, join(other.root, 'node_modules')]) {
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
