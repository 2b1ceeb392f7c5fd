import { resources } from '#contract/resources.ts';
import type { Manifest } from '#contract/release.ts';
import type { Resource, ResourceName } from '#contract/resources.ts';

/** The names in the path of a resource, and what stands for each. */
export type Params = Readonly<Record<string, string>>;

/** Where the files of a build go. */
export interface Stage {
  /** Writes a JSON file. Throws where the value is not what the contract says. */
  write(name: ResourceName, params: Params, value: unknown): Promise<void>;
  /** Writes a script. */
  writeScript(name: ResourceName, params: Params, script: string): Promise<void>;
  /** Writes a media file of that hash, whose bytes are read where they are not there yet; without them, it is left out. */
  writeMedia(path: string, sha256: string, read: () => Buffer | undefined): Promise<void>;
  /** Takes a file over from the build before, by its path in the release; false where it is not there or not whole. */
  reuse(file: string): boolean;
  /** Lets the files be seen, in one step; answers their manifest, if there is one. */
  publish(counts: Manifest['counts'], nextChangeAt: string | null): Promise<Manifest | undefined>;
  /** Forgets what was written: all that could be seen before stays as it was. */
  discard(): Promise<void>;
}

/** The text of a JSON file of a release. Throws where the value is not what the contract says. */
export function toJsonText(name: ResourceName, value: unknown): string {
  const { schema }: Resource = resources[name];
  return `${JSON.stringify(schema?.parse(value))}\n`;
}

/** A stage that checks what it is given and writes nothing. */
export function createDryStage(): Stage {
  return {
    async write(name, _, value) {
      (resources[name] as Resource).schema?.parse(value);
    },
    writeScript: async () => {},
    writeMedia: async () => {},
    reuse: () => false,
    publish: async () => undefined,
    discard: async () => {},
  };
}
