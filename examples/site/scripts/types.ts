import type { z } from 'zod';
import type { ContentArticle, ContentItem } from '#contract/blog.ts';
import type { DomainSearchResponse, DomainTLDListResponse } from '#contract/domains.ts';
import type { KnowledgeBaseArticle, KnowledgeBaseList } from '#contract/knowledge-base.ts';
import type { PlanCatalogResponse } from '#contract/plans.ts';
import type { CategoryItem, KnowledgeBaseIndex } from '#contract/site.ts';
import type { StatusResponse } from '#contract/status.ts';

// The shapes of the API, for the type checker only. In a project of your own, make them from /v1/openapi.json.
export type BlogItem = z.infer<typeof ContentItem>;
export type BlogArticle = z.infer<typeof ContentArticle>;
export type Guide = z.infer<typeof KnowledgeBaseArticle>;
export type GuideList = z.infer<typeof KnowledgeBaseList>;
export type Category = z.infer<typeof CategoryItem>;
export type ArticleIndex = z.infer<typeof KnowledgeBaseIndex>;
export type Catalog = z.infer<typeof PlanCatalogResponse>;
export type DomainResult = z.infer<typeof DomainSearchResponse>;
export type DomainPrices = z.infer<typeof DomainTLDListResponse>;
export type Status = z.infer<typeof StatusResponse>;
