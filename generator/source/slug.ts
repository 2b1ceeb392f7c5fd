import slugify from '@sindresorhus/slugify';

/** Makes a slug from any text: `Größe 2` becomes `groesse-2`. It is empty if no letter has a Latin form. */
export function toSlug(text: string): string {
  return slugify(text, { decamelize: false });
}

/** A hint to rename a file to a slug with an ending; none if the slug is empty. */
export function renameTo(slug: string, ending: string): string | undefined {
  return slug === '' ? undefined : `rename it to "${slug}${ending}"`;
}
