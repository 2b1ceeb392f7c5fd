/** An article, as far as others are related to it. */
export interface Tagged {
  readonly path: string;
  readonly category: string;
  readonly tags: readonly string[];
}

const maxRelated = 5;

/** Of a more frequent tag, only the articles nearby in the list are compared: all of them would be quadratic. */
const maxCompared = 40;

/** A position of an article in the list, and in the articles of its category and of each of its tags. */
interface Entry extends Tagged {
  readonly at: number;
  readonly atInCategory: number;
  readonly atInTags: ReadonlyMap<string, number>;
}

/**
 * Creates a search for the articles that are related to one: those with most common tags, the nearest in the list first, and
 * then its neighbours in the category. The articles are in the order of their list.
 */
export function createRelatedSearch(articles: readonly Tagged[]): (path: string) => string[] {
  const byCategory = new Map<string, Entry[]>();
  const byTag = new Map<string, Entry[]>();
  const byPath = new Map<string, Entry>();
  for (const [at, article] of articles.entries()) {
    const category = listIn(byCategory, article.category);
    const atInTags = new Map<string, number>();
    const entry = { ...article, at, atInCategory: category.length, atInTags };
    category.push(entry);
    for (const tag of article.tags) if (!atInTags.has(tag)) atInTags.set(tag, listIn(byTag, tag).push(entry) - 1);
    byPath.set(article.path, entry);
  }

  return (path) => {
    const own = byPath.get(path)!;
    const sharing = new Set(
      [...own.atInTags].flatMap(([tag, position]) => around(byTag.get(tag)!, position, maxCompared / 2)),
    );
    const common = [...sharing]
      .map((entry) => ({ entry, tags: countCommon(own, entry), distance: Math.abs(entry.at - own.at) }))
      .toSorted((a, b) => b.tags - a.tags || a.distance - b.distance || a.entry.at - b.entry.at)
      .map(({ entry }) => entry);
    const neighbours = around(byCategory.get(own.category)!, own.atInCategory, maxRelated).toSorted(
      (a, b) => Math.abs(a.atInCategory - own.atInCategory) - Math.abs(b.atInCategory - own.atInCategory),
    );
    return [...new Set([...common, ...neighbours])].slice(0, maxRelated).map((entry) => entry.path);
  };
}

/** The entries of a list around a position, without the one at it: as many before as after, at most. */
function around(entries: readonly Entry[], position: number, each: number): Entry[] {
  const before = entries.slice(Math.max(0, position - each), position);
  return [...before, ...entries.slice(position + 1, position + 1 + each)];
}

function countCommon({ atInTags }: Entry, { atInTags: other }: Entry): number {
  let count = 0;
  for (const tag of atInTags.keys()) if (other.has(tag)) count += 1;
  return count;
}

function listIn(lists: Map<string, Entry[]>, key: string): Entry[] {
  let list = lists.get(key);
  if (!list) lists.set(key, (list = []));
  return list;
}
