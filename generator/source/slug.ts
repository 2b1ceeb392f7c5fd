import slugify from '@sindresorhus/slugify';

/** Converts a text to a slug: `Größe 2` becomes `groesse-2`. Empty if no letter has a Latin form. */
export function toSlug(text: string): string {
  return slugify(text, { decamelize: false });
}

/** Suggests renaming a file to a slug with an ending. */
export function renameTo(slug: string, ending: string): string | undefined {
  return slug === '' ? undefined : `rename it to "${slug}${ending}"`;
}
