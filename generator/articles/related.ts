const maxRelated = 5;

/** Of a tag that more articles have, only some around one in the list are compared: comparing all would be quadratic. */
const maxCompared = 32;
const reach = 6;

/** For each article of a list, those with most common tags, the nearest first, and then its neighbours in the category. */
export function findRelated(
  articles: readonly { readonly path: string; readonly category: string; readonly tags: readonly string[] }[],
): string[][] {
  const tagsOf = articles.map(({ tags }) => [...new Set(tags)]);
  const tagged = tagsOf.flatMap((tags, at) => tags.map((tag) => ({ tag, at })));
  const byTag = Map.groupBy(tagged, ({ tag }) => tag);
  const byCategory = Map.groupBy(articles.keys(), (at) => articles[at]!.category);
  /** How many articles of each list came before the article at hand: they are visited in order. */
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
      for (const { at } of near) common.set(at, tagsOf[at]!.filter((one) => tagsOf[own]!.includes(one)).length);
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
