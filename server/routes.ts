import type { EndpointName } from '#contract/endpoints.ts';
import type { Route } from './http/handle.ts';
import type { Domains } from './domains/service.ts';
import type { Feedback } from './feedback/service.ts';
import type { Hosting } from './hosting/service.ts';
import type { Status } from './status/service.ts';
import type { Releases } from './releases/service.ts';
import { contentRoutes } from './releases/routes.ts';
import { domainRoutes } from './domains/routes.ts';
import { feedbackRoutes } from './feedback/routes.ts';
import { hostingRoutes } from './hosting/routes.ts';
import { statusRoutes } from './status/routes.ts';
import { monitoringRoutes } from './status/health.ts';
import type { Monitored } from './status/health.ts';

/** What the routes need. */
export interface Services extends Monitored {
  readonly releases: Releases;
  readonly domains: Domains;
  readonly feedback: Feedback;
  readonly hosting: Hosting;
  readonly status: Status;
}

/** A route for every endpoint: a forgotten one does not compile. */
export function createRoutes(services: Services): Record<EndpointName, Route> {
  return {
    ...monitoringRoutes(services),
    ...contentRoutes(services.releases),
    ...domainRoutes(services.domains),
    ...feedbackRoutes(services.feedback),
    ...statusRoutes(services.status),
    ...hostingRoutes(services.hosting),
  };
}
