import { z } from 'zod';
import type { FileEndpoint } from '#contract/endpoint.ts';
import examples from '#contract/examples.json' with { type: 'json' };
import { HttpsUrl, Line, Price, object, text } from '#contract/primitives.ts';

export const CatalogPlan = object('CatalogPlan', 'One plan that can be ordered.', {
  name: Line.describe('Plan name.'),
  ram: z.number().positive('must be greater than 0').describe('Memory in GB.'),
  storage: z.int('must be a whole number').positive('must be greater than 0').describe('Storage in GB.'),
  price: Price.describe('Price, with at most two decimals.'),
  orderLink: HttpsUrl.describe('URL to order the plan.'),
  soldOut: z.boolean().describe('Whether the plan is sold out.'),
});
export type CatalogPlan = z.infer<typeof CatalogPlan>;

const catalogShape = {
  name: Line.describe('Display name.'),
  soldOut: z.boolean().describe('Whether the whole service or game is sold out.'),
  soldOutMessage: text('Text shown while sold out; may be empty.'),
  plans: z.array(CatalogPlan).describe('The plans, in the order in which they are shown.'),
};

export const ServiceCatalog = object('ServiceCatalog', 'A web hosting service with its plans.', catalogShape);

export const GameCatalog = object('GameCatalog', 'A game with its plans.', catalogShape);

export const PlanCatalogResponse = object(
  'PlanCatalogResponse',
  'All plans, by service and by game.',
  {
    services: z
      .record(z.string(), ServiceCatalog)
      .describe('The web hosting services by key, in the order in which they are shown.'),
    games: z.record(z.string(), GameCatalog).describe('The games by key, in the order in which they are shown.'),
  },
  examples.getPlans,
);
export type PlanCatalogResponse = z.infer<typeof PlanCatalogResponse>;

/** The source of a service or game: `catalog/services/<key>.yaml`, `catalog/games/<key>.yaml`. */
export const PlanFile = z.strictObject({
  ...catalogShape,
  order: z.int('must be a whole number').optional().describe('Position in the list; entries without one come last.'),
});
export type PlanFile = z.infer<typeof PlanFile>;

/** The static files of the plans. */
export const planEntries = {
  getPlans: {
    file: 'public/v1/plans.json',
    path: '/v1/plans',
    tag: 'Plans',
    summary: 'All plans, by service and by game',
    description: 'Memory and storage are in GB. A plan that is sold out stays in the list.',
    schema: PlanCatalogResponse,
    reply: 'The plan catalog.',
    failure: 'internal_error',
  },
} as const satisfies Record<string, FileEndpoint>;
