import type { Manifest } from '#contract/release.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { SideFilesRecord } from './articles/side-files/index.ts';
import type { Diagnostic, Strictness } from './source/diagnostics.ts';
import type { SiteUrls } from './articles/side-files/side-file.ts';
import type { Compression } from './release/compress.ts';

/** Options of a build. */
export interface BuildOptions extends Strictness {
  readonly content: string;
  readonly catalog: string;
  /** The folder of releases. */
  readonly out: string;
  /** The output folder or the service to compare with; the current release below `out` if left out. */
  readonly against?: string | undefined;
  /** Checks everything and writes nothing. */
  readonly checkOnly?: boolean;
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  /** The addresses of the website and of the service, for the feed and the sitemap. */
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

/** What a build knows of its files, so that the next build can reuse those with the same input. */
export interface Made {
  /** How a page embeds the status widget of the release. */
  readonly widget?: StatusWidget | undefined;
  /** The side files that are made from metadata. */
  readonly sideFiles?: SideFilesRecord | undefined;
  /** A hash of what the search index of the release is made from. */
  readonly searchInput?: string | undefined;
}

/** The result of a build. */
export interface BuildResult extends Made {
  readonly diagnostics: readonly Diagnostic[];
  /** The new release; undefined after errors and for a check. */
  readonly release?: Manifest | undefined;
  readonly counts: Manifest['counts'];
  readonly drafts: number;
  readonly scheduled: number;
  readonly nextChangeAt: string | null;
}
