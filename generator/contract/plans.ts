import { z } from 'zod';
import type { FileEndpoint } from '#contract/endpoint.ts';
import { HttpsUrl, Line, Price, object, text } from '#contract/primitives.ts';

export const CatalogPlan = object('CatalogPlan', 'A plan for sale.', {
  name: Line.describe('Plan name.'),
  ram: z.number().positive('must be greater than 0').describe('Memory in GB.'),
  storage: z.int('must be a whole number').positive('must be greater than 0').describe('Storage in GB.'),
  price: Price.describe('Price, with at most two decimals.'),
  orderLink: HttpsUrl.describe('URL to order the plan.'),
  soldOut: z.boolean().describe('Whether the plan is sold out.'),
});

const catalogShape = {
  name: Line.describe('Display name.'),
  soldOut: z.boolean().describe('Whether the whole service or game is sold out.'),
  soldOutMessage: text('Text to show while sold out; may be empty.'),
  plans: z.array(CatalogPlan).describe('The plans, in display order.'),
};

export const ServiceCatalog = object('ServiceCatalog', 'A web hosting service with its plans.', catalogShape);

export const GameCatalog = object('GameCatalog', 'A game with its plans.', catalogShape);

export const PlanCatalogResponse = object('PlanCatalogResponse', 'All plans, by service and by game.', {
  services: z.record(z.string(), ServiceCatalog).describe('The web hosting services by key, in display order.'),
  games: z.record(z.string(), GameCatalog).describe('The games by key, in display order.'),
});
export type PlanCatalogResponse = z.infer<typeof PlanCatalogResponse>;

/** The source of a service or game: `catalog/services/<key>.yaml`, `catalog/games/<key>.yaml`. */
export const PlanFile = z.strictObject({
  ...catalogShape,
  soldOutMessage: catalogShape.soldOutMessage.default(''),
  order: z.int('must be a whole number').optional().describe('Position in the list; default: at the end.'),
});
export type PlanFile = z.infer<typeof PlanFile>;

export const planEntries = {
  getPlans: {
    file: 'public/v1/plans.json',
    path: '/v1/plans',
    tag: 'Plans',
    summary: 'List all plans, by service and by game',
    description:
      'Lists all plans, by service and by game. Memory and storage are in GB. Plans stay in the list while sold out.',
    schema: PlanCatalogResponse,
    reply: 'The plan catalog.',
    failure: 'internal_error',
  },
} as const satisfies Record<string, FileEndpoint>;
