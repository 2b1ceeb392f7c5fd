import type { Manifest } from '#contract/release.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { Diagnostic } from './source/diagnostics.ts';
import type { Compression } from './release/compress.ts';

/** What to build, and how. */
export interface BuildOptions {
  readonly content: string;
  readonly catalog: string;
  /** Where releases are kept. */
  readonly out: string;
  /** Checks everything, and writes nothing. */
  readonly checkOnly?: boolean;
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  /** Takes dead references for warnings. */
  readonly lenient: boolean;
  /** Makes everything anew. */
  readonly noCache: boolean;
  readonly compression: Compression;
  /** Threads that render; as many as pay if left out. */
  readonly threads?: number;
  /** Is told how many of how many articles are compiled. */
  readonly progress?: (done: number, total: number) => void;
}

/** What came of a build. */
export interface BuildResult {
  readonly diagnostics: readonly Diagnostic[];
  /** The new release; undefined where there were errors or nothing was to be written. */
  readonly release?: Manifest | undefined;
  readonly counts: Manifest['counts'];
  readonly drafts: number;
  readonly scheduled: number;
  readonly nextChangeAt: string | null;
  /** How a page embeds the status widget of the release. */
  readonly widget?: StatusWidget | undefined;
}
