import type { Aliases } from '#contract/content.ts';
import { endpoints } from '#contract/endpoints.ts';
import { fileOf, matchFile } from '#contract/static-files.ts';

/**
 * The URLs, without the host, whose answers change with these files of a release, sorted. A cache may hold an answer under
 * each spelling that clients use, and the 404 of a file that was not there. The aliases are those before and after.
 */
export function toUrls(files: readonly string[], [before, after]: readonly [Aliases, Aliases]): string[] {
  const targets = files.flatMap((file) => toTargets(file));
  const changed = new Set(targets);
  const former = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((from) => {
    const isMoved = before[from] !== after[from];
    return isMoved || changed.has(toArticle(from, after[from]!));
  });
  const all = [...targets, ...former.map((from) => toArticle(from, from))];
  return [...new Set(all.flatMap((target) => toSpellings(target)))].toSorted();
}

/** The targets of a file; none if the world does not see it. */
function toTargets(file: string): string[] {
  // The server makes the list of TLDs from it.
  if (file === fileOf('domains')) return [endpoints.listDomainTlds.path];
  const { name, target } = matchFile(file) ?? {};
  if (target === undefined) return [];
  return name === 'getDocs' ? [target, `${target}/`] : [target];
}

/** The target of the article at a path; a former path of the same kind says which endpoint it is. */
function toArticle(former: string, path: string): string {
  const { path: endpoint } = former.startsWith('/blog/') ? endpoints.getBlogArticle : endpoints.getKnowledgeBaseArticle;
  return `${endpoint}?path=${path}`;
}

/** Browsers and generated clients encode slashes in a value of a query, and in the path of a media file. */
function toSpellings(target: string): string[] {
  const at = target.includes('=')
    ? target.indexOf('=') + 1
    : target.startsWith('/media/')
      ? '/media/'.length
      : undefined;
  return at === undefined ? [target] : [target, target.slice(0, at) + encodeURIComponent(target.slice(at))];
}
