import type { EndpointName } from '#contract/endpoints.ts';
import type { Route } from '../http/handle.ts';
import type { Domains } from '../services/domains.ts';
import type { Feedback } from '../services/feedback.ts';
import type { Hosting } from '../services/hosting.ts';
import type { Status } from '../services/status.ts';
import type { Releases } from '../services/releases.ts';
import { contentRoutes } from './content.ts';
import { domainRoutes } from './domains.ts';
import { feedbackRoutes } from './feedback.ts';
import { hostingRoutes } from './hosting.ts';
import { statusRoutes } from './status.ts';
import { monitoringRoutes } from './monitoring.ts';
import type { Monitored } from './monitoring.ts';

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
