import { z } from 'zod';
import type { FileEndpoint } from '#contract/endpoint.ts';
import { object, text } from '#contract/primitives.ts';

/**
 * The source code of MiniSearch's option `processTerm`: JSON cannot hold functions. Splits at symbols such as `=`, and
 * text without spaces into pairs of characters; not by `Intl.Segmenter`, whose words differ between browsers.
 */
export const processTerm = String.raw`(term) =>
  term
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .split(/[^\P{S}+]+|([\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmr}\p{scx=Mymr}]+)/u)
    .flatMap((part, at) => {
      const signs = at % 2 && part ? Array.from(part) : [part];
      return signs.length > 1 ? signs.slice(1).map((sign, before) => signs[before] + sign) : signs;
    })
    .filter(Boolean)`;

const factorOf = (field: string) => z.number().describe(`Weight of a match in the ${field}.`);

/** The options of an index with the texts of articles. */
export const searchOptions = {
  idField: 'path',
  fields: ['title', 'description', 'headings', 'tags', 'text'],
  storeFields: ['title', 'description', 'category'],
  searchOptions: { boost: { title: 3, tags: 3, headings: 3, description: 2 }, prefix: true, fuzzy: 0.2 },
} as const;

/** The search index of the knowledge base; the example has no terms. */
export const KnowledgeBaseSearch = object(
  'KnowledgeBaseSearch',
  'A MiniSearch index of the knowledge base, with its options.',
  {
    minisearch: text('Version of MiniSearch that created the index.'),
    hasText: z.boolean().describe('Whether the texts of articles are included; false if the file would be too large.'),
    processTerm: z
      .literal(processTerm)
      .describe(
        'The option processTerm as JavaScript; it ignores case, accents and umlauts, and splits texts without spaces into pairs of characters. JSON cannot hold functions, so copy it into your code.',
      ),
    options: object('MiniSearchOptions', 'Options for MiniSearch.loadJS.', {
      idField: z.literal('path').describe('The id of a result is the path of the article.'),
      fields: z.array(z.string()).describe('The searched fields; text only if hasText is true.'),
      storeFields: z.array(z.string()).describe('The fields of a result.'),
      searchOptions: object('MiniSearchSearchOptions', 'Options of each search.', {
        boost: object('FieldWeights', 'The weight of a match by field; a match in the text has the weight 1.', {
          title: factorOf('title'),
          tags: factorOf('tags'),
          headings: factorOf('headings'),
          description: factorOf('description'),
        }),
        prefix: z.boolean().describe('Whether a term also matches words that start with it.'),
        fuzzy: z.number().describe('Maximum number of typos in a term, as a fraction of its length.'),
      }),
    }),
    index: z.record(z.string(), z.unknown()).describe('The index for MiniSearch.loadJS, in the format of MiniSearch.'),
  },
  {
    minisearch: '7.2.0',
    hasText: true,
    processTerm,
    options: searchOptions,
    index: { documentCount: 31, nextId: 31, serializationVersion: 2 },
  },
);
export type KnowledgeBaseSearch = z.infer<typeof KnowledgeBaseSearch>;

export const searchFiles = {
  getKnowledgeBaseSearch: {
    file: 'public/v1/kb/search.json',
    path: '/v1/kb/search.json',
    tag: 'Knowledge base',
    summary: 'Load the search index of the knowledge base, for MiniSearch',
    description:
      'Returns a search index of the knowledge base, with which a website searches by itself. Load it with the npm package minisearch: MiniSearch.loadJS(index, { ...options, processTerm }). The id of a result is the path of the article.',
    schema: KnowledgeBaseSearch,
    reply: 'The index with its options.',
  },
} as const satisfies Record<string, FileEndpoint>;
