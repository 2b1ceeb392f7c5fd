import type { EndpointName } from '#contract/endpoints.ts';
import type { OpenDomains } from './domains/service.ts';
import { domainRoutes } from './domains/routes.ts';
import { feedbackRoutes } from './feedback/routes.ts';
import type { Feedback } from './feedback/service.ts';
import { hostingRoutes } from './hosting/routes.ts';
import type { HostingRoutesOptions } from './hosting/routes.ts';
import type { Route } from './http/handle.ts';
import { keyRoutes } from './keys/routes.ts';
import type { KeyRoutesOptions } from './keys/routes.ts';
import { contentRoutes } from './releases/routes.ts';
import type { Releases } from './releases/service.ts';
import { healthRoutes, statusRoutes } from './status/routes.ts';
import type { Status } from './status/service.ts';

/** Dependencies of the routes. */
export interface Features extends HostingRoutesOptions, KeyRoutesOptions {
  readonly version: string;
  readonly releases: Releases;
  readonly domains: OpenDomains;
  readonly feedback: Feedback;
  readonly status: Status;
}

/** Creates the route of every endpoint; a missing one is a type error. */
export function createRoutes(features: Features): Record<EndpointName, Route> {
  return {
    ...healthRoutes(features),
    ...statusRoutes(features.status),
    ...contentRoutes(features.releases),
    ...domainRoutes(features.domains),
    ...feedbackRoutes(features.feedback),
    ...keyRoutes(features),
    ...hostingRoutes(features),
  };
}
