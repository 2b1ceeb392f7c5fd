import { hash } from 'node:crypto';
import { Manifest, idSource } from '#contract/release.ts';

/** The id of the release that a manifest describes. */
export function toReleaseId(manifest: Omit<Manifest, 'id'>): string {
  return hash('sha256', idSource(manifest)).slice(0, 16);
}

/** Parses the text of a `manifest.json`. Throws where it is not a manifest, or does not match its own id. */
export function parseManifest(text: string): Manifest {
  const manifest = Manifest.parse(JSON.parse(text));
  if (toReleaseId(manifest) !== manifest.id) throw new Error('manifest.json has been changed');
  return manifest;
}
