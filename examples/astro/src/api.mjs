/** The address of the API. */
export const api = process.env.API_URL ?? 'https://api.example.com';

/** Reads JSON of the API. Throws after an error, which ends the build. */
export async function read(path) {
  const response = await fetch(api + path);
  if (!response.ok) throw new Error(`${api}${path}: ${response.status} ${response.statusText}`);
  return response.json();
}

/** Returns the HTML of an article with pictures and videos from the API. */
export function toPage(html) {
  return html
    .replaceAll(/(?<= (?:src|href|poster)=")\/media\//g, `${api}/media/`)
    .replaceAll(/(?<= srcset=")[^"]*/g, (list) => list.replaceAll(/(?<=^|[\s,])\/media\//g, `${api}/media/`));
}
