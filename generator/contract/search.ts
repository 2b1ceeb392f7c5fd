import { z } from 'zod';
import { KnowledgeBaseSummary } from '#contract/knowledge-base.ts';
import { KnowledgeBasePath, schemas } from '#contract/primitives.ts';

/** The fields of an article that are searched. */
const Field = z.enum(['title', 'description', 'headings', 'tags', 'text']);
const { title, description, category } = KnowledgeBaseSummary.shape;

const SearchOptions = z
  .strictObject({
    boost: z
      .strictObject({
        title: z.number().describe('Factor for a match in the title.'),
        tags: z.number().describe('Factor for a match in the tags.'),
        headings: z.number().describe('Factor for a match in the headings.'),
        description: z.number().describe('Factor for a match in the description.'),
      })
      .describe('How much a match in a field counts; one in the text counts 1.'),
    prefix: z.boolean().describe('Whether a term also finds the words that begin with it.'),
    fuzzy: z.number().describe('Edits that a misspelt term may have, as a share of its length.'),
  })
  .describe('Options of each search.');

const Options = z
  .strictObject({
    idField: z.literal('path').describe('The id of a result is the path of the article.'),
    fields: z.array(Field).describe('The fields that are searched; text only if the file has it.'),
    storeFields: z.array(z.enum(['title', 'description', 'category'])).describe('The fields of a result.'),
    searchOptions: SearchOptions,
  })
  .describe('Options for MiniSearch.loadJS.');

/** OpenAPI tools expect `items` in each array, also where `prefixItems` say all. */
const pair = { minItems: 2, maxItems: 2, items: {} };
const byDocument = z.record(z.string(), z.int());
/** What MiniSearch writes, version 2. */
const Index = z
  .strictObject({
    documentCount: z.int().describe('Number of articles.'),
    nextId: z.int().describe('Number of the next article.'),
    documentIds: z.record(z.string(), KnowledgeBasePath).describe('Path of each article, by its number.'),
    fieldIds: z.record(z.string(), z.int()).describe('Number of each field.'),
    fieldLength: z.record(z.string(), z.array(z.int())).describe('Words in each field, by the number of the article.'),
    averageFieldLength: z.array(z.number()).describe('Average number of words in each field.'),
    storedFields: z
      .record(z.string(), z.strictObject({ title, description, category }))
      .describe('The fields of results, by the number of the article.'),
    dirtCount: z.int().describe('Number of removed articles, always 0.'),
    index: z
      .array(z.tuple([z.string(), z.record(z.string(), byDocument)]).meta(pair))
      .describe('Each term, and how often it is in which field of which article.'),
    serializationVersion: z.literal(2).describe('Version of this format.'),
  })
  .describe('The index, for MiniSearch.loadJS.');

/** How an index changes words into terms, for websites: JSON cannot hold functions. */
export const processTerm = "(term) => term.normalize('NFKD').replace(/\\p{M}/gu, '').toUpperCase().toLowerCase()";

/** The index of one article, with the words of its title only. */
const example = {
  minisearch: '7.2.0',
  hasText: true,
  processTerm,
  options: {
    idField: 'path',
    fields: ['title', 'description', 'headings', 'tags', 'text'],
    storeFields: ['title', 'description', 'category'],
    searchOptions: { boost: { title: 3, tags: 3, headings: 3, description: 2 }, prefix: true, fuzzy: 0.2 },
  },
  index: {
    documentCount: 1,
    nextId: 1,
    documentIds: { '0': '/knowledgebase/domains-and-dns/reverse-dns' },
    fieldIds: { title: 0, description: 1, headings: 2, tags: 3, text: 4 },
    fieldLength: { '0': [3, 19, 10, 1, 124] },
    averageFieldLength: [3, 19, 10, 1, 124],
    storedFields: {
      '0': {
        title: 'Setting reverse DNS',
        description: 'Give the addresses of your VPS a name, for mail that is accepted and logs that can be read.',
        category: 'Domains and DNS',
      },
    },
    dirtCount: 0,
    index: [
      ['setting', { '0': { '0': 1 } }],
      ['reverse', { '0': { '0': 1 } }],
      ['dns', { '0': { '0': 1 } }],
    ],
    serializationVersion: 2,
  },
};

/** The search index of the knowledge base. */
export const KnowledgeBaseSearch = z
  .strictObject({
    minisearch: z.string().describe('Version of MiniSearch that wrote the index.'),
    hasText: z.boolean().describe('Whether the text of articles is in the index; if not, the file would be too large.'),
    processTerm: z
      .literal(processTerm)
      .describe(
        'The option processTerm, in JavaScript: upper case, accents and umlauts make no difference. JSON holds no functions, so copy it into your code.',
      ),
    options: Options,
    index: Index,
  })
  .register(schemas, {
    id: 'KnowledgeBaseSearch',
    description: 'A MiniSearch index of the knowledge base, with its options.',
    example,
  });
export type KnowledgeBaseSearch = z.infer<typeof KnowledgeBaseSearch>;
