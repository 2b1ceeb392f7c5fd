import { z } from 'zod';
import { tags } from '#contract/endpoint.ts';
import { schemas } from '#contract/primitives.ts';

const text = z.string();
/** A JSON Schema, which is as open as its standard. */
const JsonSchema = z.record(z.string(), z.unknown());
const Reference = z.strictObject({ $ref: text.describe('Reference to a component of this document.') });

const Header = z.strictObject({
  description: text.describe('What the header says.'),
  required: z.boolean().describe('Whether every such response has it.'),
  schema: JsonSchema.describe('Its JSON Schema.'),
});

const MediaType = z.strictObject({
  schema: JsonSchema.describe('JSON Schema of the body; empty for any bytes.'),
  example: z.unknown().optional().describe('An example of the body.'),
  examples: z
    .record(z.string(), z.strictObject({ value: z.unknown().describe('The example.') }))
    .optional()
    .describe('Examples of an error, by its code.'),
});
const Content = z.record(z.string(), MediaType);

const Operation = z.strictObject({
  operationId: text.describe('Unique name of the operation, for generated clients.'),
  summary: text.describe('What it does, in a few words.'),
  description: text.describe('What a client should know beyond the summary.'),
  tags: z.array(text).describe('The resource it belongs to.'),
  security: z.array(z.record(z.string(), z.array(text))).describe('The key it needs; empty if it needs none.'),
  parameters: z
    .array(
      z.strictObject({
        name: text.describe('Name of the parameter.'),
        in: z.enum(['path', 'query', 'header']).describe('Where it stands in a request.'),
        required: z.boolean().describe('Whether every request needs it.'),
        description: text.describe('What it says.'),
        schema: JsonSchema.describe('Its JSON Schema.'),
        example: z.unknown().describe('A valid value.'),
      }),
    )
    .describe('Its parameters in path, query and headers.'),
  requestBody: z
    .strictObject({
      required: z.boolean().describe('Whether every request needs it.'),
      content: Content.describe('The body, by media type.'),
    })
    .optional()
    .describe('The body of its requests, if they have one.'),
  responses: z
    .record(
      z.string(),
      z.strictObject({
        description: text.describe('When it is sent.'),
        headers: z.record(z.string(), Reference).describe('Its headers.'),
        content: Content.optional().describe('Its body, by media type.'),
      }),
    )
    .describe('Every response, by status.'),
});

/** All but the operations and their components. */
export const head = {
  openapi: '3.1.1',
  info: {
    title: 'Hosting API',
    // The version of the API, which is independent of the version of releases.
    version: '1.0.0',
    description: [
      'Blog and knowledge base articles, plans, domains, hosting controls and the state of this service.',
      'Every GET endpoint also supports HEAD. Every response has an X-Request-Id: quote it when you contact support.',
      'A request with an ETag in If-None-Match gets 304 if nothing has changed.',
      'The examples are responses of the sample content.',
    ].join(' '),
    contact: { name: 'Customer support', url: 'https://clients.example.com/support' },
    license: { name: 'MIT', identifier: 'MIT' },
  },
  // The description is a file of the release, which several instances may serve under several names.
  servers: [{ url: '/', description: 'The instance that answered with this description.' }],
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
};

/** The OpenAPI description of this API, in the part of OpenAPI 3.1 that it uses. */
export const OpenApiDocument = z
  .strictObject({
    openapi: text.regex(/^3\.1\.\d+$/).describe('Version of OpenAPI.'),
    info: z
      .strictObject({
        title: text.describe('Name of the API.'),
        version: text.describe('Version of the API.'),
        description: text.describe('What is true for all operations.'),
        contact: z
          .strictObject({ name: text.describe('Whom to ask.'), url: z.url().describe('Where to ask.') })
          .describe('Who answers questions.'),
        license: z
          .strictObject({
            name: text.describe('Name of the licence.'),
            identifier: text.describe('Its SPDX identifier.'),
          })
          .describe('The licence of the software.'),
      })
      .describe('What this document describes.'),
    servers: z
      .array(
        z.strictObject({ url: text.describe('Base of all paths.'), description: text.describe('Which one it is.') }),
      )
      .describe('Where the API is.'),
    tags: z
      .array(
        z.strictObject({ name: text.describe('Name of the resource.'), description: text.describe('What it is.') }),
      )
      .describe('The resources of the API.'),
    paths: z
      .record(z.string(), z.partialRecord(z.enum(['get', 'post']), Operation))
      .describe('All operations, by path and method.'),
    components: z
      .strictObject({
        schemas: z.record(z.string(), JsonSchema).describe('The shapes of bodies.'),
        headers: z.record(z.string(), Header).describe('The headers of responses.'),
        securitySchemes: z
          .record(
            z.string(),
            z.strictObject({
              type: text.describe('Kind of authentication.'),
              scheme: text.describe('Scheme of the header Authorization.'),
              description: text.describe('What a key is.'),
            }),
          )
          .describe('How a request is authenticated.'),
      })
      .describe('What operations refer to.'),
  })
  .register(schemas, {
    id: 'OpenApiDocument',
    description: 'An OpenAPI 3.1 document, with only the parts that this one uses.',
    // Without the operations, which would repeat the document.
    example: { ...head, paths: {}, components: { schemas: {}, headers: {}, securitySchemes: {} } },
  });
export type OpenApiDocument = z.infer<typeof OpenApiDocument>;
export type Operation = z.infer<typeof Operation>;
