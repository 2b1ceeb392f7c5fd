import { z } from 'zod';
import { endpointDefaults, json } from '#contract/endpoint.ts';
import type { Endpoint, FileEndpoint, StaticFile } from '#contract/endpoint.ts';
import { HostPort, HttpUrl, Line, describeUnsafe, named, object, text } from '#contract/primitives.ts';

export const StatusResponse = object(
  'StatusResponse',
  'The platform status, with the names of the affected components.',
  {
    status: named(
      'PlatformStatus',
      'The status; a disruption takes precedence over maintenance.',
      z.enum(['up', 'maintenance', 'disrupted']),
    ),
    maintenance: z.array(z.string()).optional().describe('Names of the components under maintenance, if any.'),
    disrupted: z.array(z.string()).optional().describe('Names of the disrupted components, if any.'),
  },
  { status: 'disrupted', disrupted: ['Game servers'] },
);

export const StatusErrorResponse = object(
  'StatusErrorResponse',
  'The platform status is unknown.',
  { status: text('Always error.') },
  { status: 'error' },
);

const version = text('The running version of the service.');

export const HealthResponse = object(
  'HealthResponse',
  'The process is running.',
  { status: text('Always healthy.'), version },
  { status: 'healthy', version: '1.4.0' },
);

export const ReadyResponse = object(
  'ReadyResponse',
  'The readiness of this instance.',
  {
    status: named(
      'Readiness',
      'The state: ready, draining before a shutdown, or unready while the data store is unavailable.',
      z.enum(['ready', 'draining', 'unready']),
    ),
  },
  { status: 'ready' },
);

export const InfoResponse = object('InfoResponse', 'The running version.', { version }, { version: '1.4.0' });

/** The path and hash that a page needs to embed a version of the status widget. */
export const StatusWidget = z.strictObject({
  /** The path of this version; the bytes never change. */
  path: z.string().regex(/^\/v1\/service-status\.[0-9a-f]{16}\.js$/),
  /** The value for the `integrity` attribute of the script element. */
  integrity: z.string().regex(/^sha384-[A-Za-z0-9+/]{64}$/),
});
export type StatusWidget = z.infer<typeof StatusWidget>;

const wholeNumber = (minimum: number, maximum: number) =>
  z.int().min(minimum, `must be at least ${minimum}`).max(maximum, `must be at most ${maximum}`);

const Monitor = z
  .strictObject({
    name: Line.describe('Name shown to visitors.'),
    url: z
      .union([HttpUrl, z.string().regex(/^\/(?![/\\])[\x21-\x7E]*$/)], {
        error: ({ input }) => describeUnsafe(input) ?? 'must be an http or https URL, or a path of this server',
      })
      .optional()
      .describe('URL to fetch, or a path of this server, such as /health.'),
    tcp: HostPort.regex(/:[0-9]+$/, 'must end in a port')
      .optional()
      .describe('Host and port to connect to, as host:port.'),
    interval_seconds: wholeNumber(5, 86_400).optional().describe('Seconds between checks; default: 60.'),
    timeout_seconds: wholeNumber(1, 60).optional().describe('Seconds to wait for a response; default: 5.'),
    failures: wholeNumber(1, 100)
      .optional()
      .describe('Consecutive failures before the monitor counts as disrupted; default: 2.'),
  })
  .refine(({ url, tcp }) => url !== undefined || tcp !== undefined, 'needs url: "https://..." or tcp: "host:port"')
  .refine(({ url, tcp }) => url === undefined || tcp === undefined, {
    path: ['tcp'],
    error: 'conflicts with "url"; keep one of the two',
  });

const localTime = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/, 'must be a local time of the form YYYY-MM-DDTHH:MM')
  .refine((time) => z.iso.datetime({ local: true }).safeParse(time).success, {
    error: 'must be a time that exists',
    when: ({ issues }) => issues.length === 0,
  });

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** The source `catalog/status.yaml`: built-in monitors and planned maintenance. */
export const StatusCatalog = z.strictObject({
  monitors: z.array(Monitor),
  maintenance: z
    .array(
      z.strictObject({
        title: Line.describe('Title of the maintenance.'),
        monitors: z
          .array(z.string())
          .min(1, 'must name at least one monitor')
          .describe('Names of the affected monitors.'),
        start: localTime.describe('Start, as local time in `timezone`, such as 2026-12-08T23:00.'),
        end: localTime.describe('End, as local time in `timezone`, such as 2026-12-09T03:00.'),
        timezone: z
          .string()
          .refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')
          .describe('IANA time zone, such as Europe/Berlin.'),
      }),
    )
    .default([]),
});
export type StatusCatalog = z.infer<typeof StatusCatalog>;

export const PlannedMaintenance = object(
  'PlannedMaintenance',
  'A planned maintenance.',
  {
    title: text('Title of the maintenance.'),
    affected: z.array(z.string()).describe('Names of the affected components.'),
    start: z.iso.datetime().describe('Start, in UTC.'),
    end: z.iso.datetime().describe('End, in UTC.'),
  },
  {
    title: 'Switch replacement',
    affected: ['Network'],
    start: '2026-12-08T22:00:00.000Z',
    end: '2026-12-09T02:00:00.000Z',
  },
);

const script = {
  tag: 'Status',
  mediaType: 'application/javascript',
  reply: 'The script.',
  failure: 'internal_error',
} as const satisfies Partial<FileEndpoint>;

/** The operations for instance health and platform status, and the files of the status widget. */
export const statusEntries = {
  getHealth: {
    ...endpointDefaults,
    path: '/health',
    tag: 'Service',
    summary: 'Check the process',
    description: 'Returns healthy while the process is running, for supervisors. No rate limit applies.',
    replies: { 200: json('The process is running.', HealthResponse) },
  },
  getReady: {
    ...endpointDefaults,
    path: '/ready',
    tag: 'Service',
    summary: 'Check the readiness of this instance',
    description:
      'Returns whether this instance accepts requests, for load balancers: not during a shutdown, nor while the data store is unavailable.',
    replies: {
      200: json('The instance accepts requests.', ReadyResponse),
      503: json('The instance is shutting down or cannot serve requests.', ReadyResponse, { status: 'draining' }),
    },
  },
  getInfo: {
    ...endpointDefaults,
    path: '/v1/info',
    tag: 'Service',
    summary: 'Retrieve the running version',
    description: 'Returns the running version of the service. The version of the API is info.version of this document.',
    replies: { 200: json('The running version.', InfoResponse) },
  },
  getStatus: {
    ...endpointDefaults,
    stored: 'memory',
    path: '/v1/status',
    tag: 'Status',
    summary: 'Retrieve the platform status: up, maintenance or disrupted',
    description: 'Returns the platform status, with the names of the affected components. Empty lists are left out.',
    replies: {
      200: json('The status, with the names of the affected components.', StatusResponse),
      503: json('The status is unknown.', StatusErrorResponse),
    },
  },
  listMaintenance: {
    file: 'public/v1/status/maintenance.json',
    path: '/v1/status/maintenance',
    tag: 'Status',
    summary: 'List the planned maintenance, by start',
    description:
      'Lists the planned maintenance, by start. The list is as old as the content: compare end with the time, and leave out maintenance that has ended.',
    schema: named('MaintenanceList', 'Planned maintenance, by start.', z.array(PlannedMaintenance)),
    reply: 'The planned maintenance.',
  },
  getStatusWidget: {
    ...script,
    file: 'public/v1/service-status.js',
    path: '/v1/service-status.js',
    summary: 'Load the status widget, a script that shows the platform status on any website',
    description:
      'Returns the newest version of a script that shows the platform status on any website. Pages with an integrity attribute use an address with a version.',
  },
  getStatusWidgetVersion: {
    ...script,
    file: 'public/v1/service-status.{version}.js',
    path: '/v1/service-status.{version}.js',
    summary: 'Load a version of the status widget, whose bytes never change',
    description:
      'Returns a version of the status widget, whose bytes never change. The file v1/service-status.json of a release has the path and the hash for the integrity attribute.',
    isImmutable: true,
    absent: 'not_found',
  },
  statusWidgetIntegrity: { file: 'public/v1/service-status.json', schema: StatusWidget },
  status: { file: 'private/status.json', schema: StatusCatalog },
} as const satisfies Record<string, Endpoint | FileEndpoint | StaticFile>;
