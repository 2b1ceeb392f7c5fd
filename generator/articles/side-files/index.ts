import { redirects } from './redirects.ts';
import type { SideFile, SideFileInput, TextFile } from './side-file.ts';

const sideFiles: readonly SideFile[] = [redirects];

/** Creates all side files of a release. */
export async function toSideFiles(input: SideFileInput): Promise<TextFile[]> {
  return (await Promise.all(sideFiles.map(async (create) => create(input)))).flat();
}
