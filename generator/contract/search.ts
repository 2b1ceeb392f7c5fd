import { z } from 'zod';
import type { FileEndpoint } from '#contract/endpoint.ts';
import { object, part, text } from '#contract/primitives.ts';

/** How an index changes words into terms, for websites: JSON cannot hold functions. */
export const processTerm = "(term) => term.normalize('NFKD').replace(/\\p{M}/gu, '').toUpperCase().toLowerCase()";

const factorOf = (field: string) => z.number().describe(`Factor for a match in the ${field}.`);

/** The options of an index that has the texts of articles. */
export const searchOptions = {
  idField: 'path',
  fields: ['title', 'description', 'headings', 'tags', 'text'],
  storeFields: ['title', 'description', 'category'],
  searchOptions: { boost: { title: 3, tags: 3, headings: 3, description: 2 }, prefix: true, fuzzy: 0.2 },
} as const;

/** The search index of the knowledge base. Its example has no terms. */
export const KnowledgeBaseSearch = object(
  'KnowledgeBaseSearch',
  'A MiniSearch index of the knowledge base, with its options.',
  {
    minisearch: text('Version of MiniSearch that wrote the index.'),
    hasText: z.boolean().describe('Whether the text of articles is in the index; if not, the file would be too large.'),
    processTerm: z
      .literal(processTerm)
      .describe(
        'The option processTerm, in JavaScript: upper case, accents and umlauts make no difference. JSON holds no functions, so copy it into your code.',
      ),
    options: part('Options for MiniSearch.loadJS.', {
      idField: z.literal('path').describe('The id of a result is the path of the article.'),
      fields: z
        .array(z.enum(searchOptions.fields))
        .describe('The fields that are searched; text only if the file has it.'),
      storeFields: z.array(z.enum(searchOptions.storeFields)).describe('The fields of a result.'),
      searchOptions: part('Options of each search.', {
        boost: part('How much a match in a field counts; one in the text counts 1.', {
          title: factorOf('title'),
          tags: factorOf('tags'),
          headings: factorOf('headings'),
          description: factorOf('description'),
        }),
        prefix: z.boolean().describe('Whether a term also finds the words that begin with it.'),
        fuzzy: z.number().describe('Edits that a misspelt term may have, as a share of its length.'),
      }),
    }),
    index: z.record(z.string(), z.unknown()).describe('The index, for MiniSearch.loadJS, in the format of MiniSearch.'),
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

/** The static files of the search. */
export const searchFiles = {
  getKnowledgeBaseSearch: {
    file: 'public/v1/kb/search.json',
    path: '/v1/kb/search.json',
    tag: 'Knowledge base',
    summary: 'A search index of the knowledge base, for MiniSearch in a website',
    description:
      'The website searches with it, not this service: npm minisearch, MiniSearch.loadJS(index, { ...options, processTerm }). The id of a result is the path of the article.',
    schema: KnowledgeBaseSearch,
    reply: 'The index, with its options.',
  },
} as const satisfies Record<string, FileEndpoint>;
