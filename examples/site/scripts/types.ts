import type { z } from 'zod';
import type {
  CategoryItem,
  ContentArticle,
  ContentItem,
  KnowledgeBaseArticle,
  KnowledgeBaseIndexItem,
  KnowledgeBaseSummary,
} from '#contract/articles.ts';
import type { DomainSearchResponse, DomainTLDListResponse } from '#contract/domains.ts';
import type { PlanCatalogResponse } from '#contract/plans.ts';
import type { PlannedMaintenance, StatusResponse } from '#contract/status.ts';

// Types of the API, for the type checker only. In your own project, generate them from /v1/openapi.json.
export type BlogItem = z.infer<typeof ContentItem>;
export type BlogArticle = z.infer<typeof ContentArticle>;
export type Guide = z.infer<typeof KnowledgeBaseArticle>;
export type GuideList = z.infer<typeof KnowledgeBaseSummary>[];
export type Category = z.infer<typeof CategoryItem>;
export type ArticleIndex = z.infer<typeof KnowledgeBaseIndexItem>[];
export type Catalog = z.infer<typeof PlanCatalogResponse>;
export type DomainResult = z.infer<typeof DomainSearchResponse>;
export type DomainPrices = z.infer<typeof DomainTLDListResponse>;
export type Maintenance = z.infer<typeof PlannedMaintenance>;
export type Status = z.infer<typeof StatusResponse>;
