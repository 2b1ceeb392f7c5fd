/** An article, as far as others are related to it. */
interface Tagged {
  readonly path: string;
  readonly category: string;
  readonly tags: readonly string[];
}

const maxRelated = 5;

/** Of a tag that more articles have, only some around one in the list are compared: comparing all would be quadratic. */
const maxCompared = 32;
const reach = 6;

/**
 * Finds the articles that are related to each one: those with most common tags, the nearest in the list first, and then its
 * neighbours in the category. The articles are in the order of their list.
 */
export function findRelated(articles: readonly Tagged[]): string[][] {
  const tagsOf = articles.map(({ tags }) => [...new Set(tags)]);
  const tagged = tagsOf.flatMap((tags, at) => tags.map((tag) => ({ tag, at })));
  const byTag = new Map(
    Array.from(
      Map.groupBy(tagged, ({ tag }) => tag),
      ([tag, list]) => [tag, list.map(({ at }) => at)],
    ),
  );
  const byCategory = Map.groupBy(articles.keys(), (at) => articles[at]!.category);
  /** The position in each list of the article at hand: they are walked through in order. */
  const positions = new Map<number[], number>();
  const nextPosition = (list: number[]): number => {
    const position = (positions.get(list) ?? -1) + 1;
    positions.set(list, position);
    return position;
  };

  return articles.map(({ category }, own) => {
    const common = new Map<number, number>();
    for (const tag of tagsOf[own]!) {
      const list = byTag.get(tag)!;
      const position = nextPosition(list);
      const near = list.length <= maxCompared ? list : list.slice(Math.max(0, position - reach), position + reach + 1);
      for (const other of near) {
        if (other === own || common.has(other)) continue;
        common.set(other, tagsOf[other]!.filter((one) => tagsOf[own]!.includes(one)).length);
      }
    }
    const ranked = [...common].toSorted(
      ([a, countA], [b, countB]) => countB - countA || Math.abs(a - own) - Math.abs(b - own) || a - b,
    );
    const related = new Set(ranked.slice(0, maxRelated).map(([at]) => at));
    const list = byCategory.get(category)!;
    const position = nextPosition(list);
    for (let distance = 1; distance <= maxRelated; distance += 1) {
      for (const neighbour of [list[position - distance], list[position + distance]]) {
        if (neighbour !== undefined && related.size < maxRelated) related.add(neighbour);
      }
    }
    return Array.from(related, (at) => articles[at]!.path);
  });
}
