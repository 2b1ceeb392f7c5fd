import type { Manifest } from '#contract/release.ts';

type Counts = Manifest['counts'];

/** A list that readers see, and where its sources are. */
export interface PublicList {
  readonly count: Exclude<keyof Counts, 'media'>;
  readonly root: 'content' | 'catalog';
  /** Its folder or file in that root. */
  readonly path: string;
  /** Singular and plural. */
  readonly nouns: readonly [string, string];
}

const lists: readonly PublicList[] = [
  { count: 'blogArticles', root: 'content', path: 'blog', nouns: ['blog article', 'blog articles'] },
  {
    count: 'knowledgeBaseArticles',
    root: 'content',
    path: 'knowledgebase',
    nouns: ['knowledge base article', 'knowledge base articles'],
  },
  { count: 'services', root: 'catalog', path: 'services', nouns: ['service', 'services'] },
  { count: 'games', root: 'catalog', path: 'games', nouns: ['game', 'games'] },
  { count: 'tlds', root: 'catalog', path: 'domains.yaml', nouns: ['TLD', 'TLDs'] },
  { count: 'monitors', root: 'catalog', path: 'status.yaml', nouns: ['monitor', 'monitors'] },
];

/** The lists that have entries online and would have none. */
export function findEmptied(online: Partial<Counts>, next: Counts): readonly PublicList[] {
  return lists.filter(({ count }) => next[count] === 0 && (online[count] ?? 0) > 0);
}
