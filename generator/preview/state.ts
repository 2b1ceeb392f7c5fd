import type { Article } from '../articles/article.ts';
import { compareText } from '../source/diagnostics.ts';
import type { Diagnostic } from '../source/diagnostics.ts';

/** What the preview shows: the articles and problems of the last build. */
export interface PreviewState {
  /** Higher after each build. */
  readonly build: number;
  readonly articles: readonly Article[];
  readonly diagnostics: readonly Diagnostic[];
  /** The folder of the last preview that was built; undefined before the first one. */
  readonly directory: string | undefined;
}

/** The problems of one file. */
export interface Problems {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
}

/** Groups the problems by file. */
export function groupProblems(diagnostics: readonly Diagnostic[]): (file: string) => Problems {
  const byFile = Map.groupBy(diagnostics, ({ file }) => file);
  return (file) => {
    const { error: errors = [], warning: warnings = [] } = Object.groupBy(
      byFile.get(file) ?? [],
      ({ severity }) => severity,
    );
    return { errors, warnings };
  };
}

/** The title of an article; the path if its front matter is invalid. */
export function titleOf({ metadata: { item }, path }: Article): string {
  return 'title' in item ? String(item.title) : path;
}

/** The articles to which an article links, and those that link to it, each once and ordered by path. */
export function findLinks(article: Article, articles: readonly Article[]): { out: Article[]; into: Article[] } {
  const targets = new Set(article.metadata.references.map(({ path }) => path));
  const pointsHere = ({ metadata }: Article): boolean => metadata.references.some(({ path }) => path === article.path);
  const others = articles.filter(({ path }) => path !== article.path).toSorted((a, b) => compareText(a.path, b.path));
  return { out: others.filter(({ path }) => targets.has(path)), into: others.filter(pointsHere) };
}
