/** An article, as far as others are related to it. */
export interface Tagged {
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
 * neighbours in the category. The articles are in the order of their list. They are numbers in here, since 10,000 objects
 * took 1 s instead of 0.1 s.
 */
export function findRelated(articles: readonly Tagged[]): string[][] {
  const byCategory = new Map<string, number[]>();
  const byTag: number[][] = [];
  const tagsOf = toNumbers(articles);
  for (const [at, { category }] of articles.entries()) {
    const own = byCategory.get(category);
    if (own) own.push(at);
    else byCategory.set(category, [at]);
    for (const tag of tagsOf[at]!) (byTag[tag] ??= []).push(at);
  }
  /** The position of the article at hand in each list: they are walked through in order. */
  const positions = new Map<number[], number>();
  const nextPosition = (list: number[]): number => {
    const position = positions.get(list) ?? 0;
    positions.set(list, position + 1);
    return position;
  };

  return articles.map(({ category }, own) => {
    const best = createTop(maxRelated);
    for (const tag of tagsOf[own]!) {
      const list = byTag[tag]!;
      const position = nextPosition(list);
      const isRare = list.length <= maxCompared;
      const end = isRare ? list.length : Math.min(list.length, position + reach + 1);
      for (let index = isRare ? 0 : Math.max(0, position - reach); index < end; index += 1) {
        const other = list[index]!;
        // No two articles have the same rank: of two at the same distance, the earlier one is first.
        const nearness = (other < own ? 1 : 0) - 2 * Math.abs(other - own);
        const most = Math.min(tagsOf[own]!.length, tagsOf[other]!.length) * 2 * articles.length + nearness;
        if (other === own || most <= best.lowest()) continue;
        best.add(other, countCommon(tagsOf[own]!, tagsOf[other]!) * 2 * articles.length + nearness);
      }
    }
    const list = byCategory.get(category)!;
    const position = nextPosition(list);
    const related = new Set(best.list());
    for (let distance = 1; distance <= maxRelated; distance += 1) {
      for (const neighbour of [list[position - distance], list[position + distance]]) {
        if (neighbour !== undefined && related.size < maxRelated) related.add(neighbour);
      }
    }
    return Array.from(related, (at) => articles[at]!.path);
  });
}

/** Keeps the entries of highest rank. An entry that is added again has the same rank. */
function createTop(size: number) {
  const entries: number[] = [];
  const ranks: number[] = [];
  const lowest = (): number => ranks[size - 1] ?? -Infinity;
  return {
    /** The rank that another entry must exceed. */
    lowest,
    add(entry: number, rank: number): void {
      if (rank <= lowest()) return;
      let at = ranks.length;
      while (at > 0 && ranks[at - 1]! < rank) at -= 1;
      if (ranks[at - 1] === rank) return;
      entries.splice(at, 0, entry);
      ranks.splice(at, 0, rank);
      if (ranks.length > size) {
        entries.pop();
        ranks.pop();
      }
    },
    list: (): readonly number[] => entries,
  };
}

function countCommon(tags: readonly number[], other: readonly number[]): number {
  let count = 0;
  for (const tag of tags) if (other.includes(tag)) count += 1;
  return count;
}

/** The tags of each article, without repeated ones, as numbers: they are compared faster than texts. */
function toNumbers(articles: readonly Tagged[]): number[][] {
  const numbers = new Map<string, number>();
  const toNumber = (tag: string): number => {
    const number = numbers.get(tag) ?? numbers.size;
    numbers.set(tag, number);
    return number;
  };
  return articles.map(({ tags }) => [...new Set(tags)].map(toNumber));
}
