const maxRelated = 5;

/** Above this number of articles, only neighbours in the list are compared. */
const maxCompared = 32;
const reach = 6;

/** Finds related articles: most common tags first, then category neighbours. */
export function findRelated(
  articles: readonly { readonly path: string; readonly category: string; readonly tags: readonly string[] }[],
): string[][] {
  const tagsOf = articles.map(({ tags }) => [...new Set(tags)]);
  const tagged = tagsOf.flatMap((tags, at) => tags.map((tag) => ({ tag, at })));
  const byTag = Map.groupBy(tagged, ({ tag }) => tag);
  const byCategory = Map.groupBy(articles.keys(), (at) => articles[at]!.category);
  /** The number of visited articles in each list; articles are visited in order. */
  const positions = new Map<unknown, number>();
  const nextPosition = (list: unknown): number => {
    const position = positions.get(list) ?? 0;
    positions.set(list, position + 1);
    return position;
  };

  return articles.map(({ category }, own) => {
    const common = new Map<number, number>();
    for (const tag of tagsOf[own]!) {
      const list = byTag.get(tag)!;
      const position = nextPosition(list);
      const near = list.length <= maxCompared ? list : list.slice(Math.max(0, position - reach), position + reach + 1);
      for (const { at } of near) common.set(at, tagsOf[at]!.filter((name) => tagsOf[own]!.includes(name)).length);
    }
    common.delete(own);
    const ranked = [...common].toSorted(
      ([a, countA], [b, countB]) => countB - countA || Math.abs(a - own) - Math.abs(b - own) || a - b,
    );
    const list = byCategory.get(category)!;
    const position = nextPosition(list);
    const neighbours = Array.from({ length: maxRelated }, (_, distance) => [
      list[position - distance - 1],
      list[position + distance + 1],
    ]).flat();
    const related = [...new Set([...ranked.slice(0, maxRelated).map(([at]) => at), ...neighbours])];
    return related.flatMap((at) => (at === undefined ? [] : articles[at]!.path)).slice(0, maxRelated);
  });
}
