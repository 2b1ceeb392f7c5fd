import type { Manifest } from '#contract/release.ts';
import type { Diagnostic, Strictness } from './source/diagnostics.ts';
import type { SiteUrls } from './articles/feed.ts';
import type { StaticFilesRecord } from './static-files.ts';
import type { Compression } from './release/compress.ts';

/** Options of a build. */
export interface BuildOptions extends Strictness {
  readonly content: string;
  readonly catalog: string;
  /** The folder of releases. */
  readonly out: string;
  /** Whether the release need not survive a power loss, as in a test. */
  readonly isTemporary?: boolean;
  /** The output folder or the service to compare with; the current release below `out` if left out. */
  readonly against?: string | undefined;
  /** Checks everything and writes nothing. */
  readonly checkOnly?: boolean;
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  /** The addresses and the name of the service, for the feed, the sitemap and /docs. */
  readonly urls?: SiteUrls | undefined;
  /** Allows a list that is online to become empty. */
  readonly allowEmpty?: boolean;
  /** Renders every article again. */
  readonly noCache: boolean;
  readonly compression: Compression;
  /** The number of render threads; chosen automatically if left out. */
  readonly threads?: number;
  /** Called after each compiled article. */
  readonly progress?: (done: number, total: number) => void;
}

/** The result of a build. */
export interface BuildResult {
  readonly diagnostics: readonly Diagnostic[];
  /** The new release; undefined after errors and for a check. */
  readonly release?: Manifest | undefined;
  /** What its static files were made from, so that the next build can reuse those with the same input. */
  readonly staticFiles?: StaticFilesRecord | undefined;
  readonly counts: Manifest['counts'];
  readonly drafts: number;
  readonly scheduled: number;
  readonly nextChangeAt: string | null;
}
