import { z } from 'zod';
import { endpointDefaults, json } from '#contract/endpoint.ts';
import type { Endpoint, FileEndpoint, StaticFile } from '#contract/endpoint.ts';
import { HostPort, HttpUrl, Line, describeUnsafe, object, text } from '#contract/primitives.ts';

export const StatusResponse = object(
  'StatusResponse',
  'The state of the platform, with the names of the affected components.',
  {
    status: z.enum(['up', 'maintenance', 'disrupted']).describe('The state; a disruption outweighs a maintenance.'),
    maintenance: z
      .array(z.string())
      .optional()
      .describe('Names of the components under maintenance, if there are any.'),
    disrupted: z.array(z.string()).optional().describe('Names of the disrupted components, if there are any.'),
  },
  { status: 'disrupted', disrupted: ['Game servers'] },
);

export const StatusErrorResponse = object(
  'StatusErrorResponse',
  'The state of the platform is unknown.',
  { status: text('Always error.') },
  { status: 'error' },
);

const version = text('The running version of the service.');

export const HealthResponse = object(
  'HealthResponse',
  'Whether the process is running, with its version.',
  { status: text('Always healthy.'), version },
  { status: 'healthy', version: '1.4.0' },
);

export const ReadyResponse = object(
  'ReadyResponse',
  'Whether this instance accepts traffic.',
  {
    status: z
      .enum(['ready', 'draining', 'unready'])
      .describe('The state: ready, draining before a shutdown, or unready while the store does not answer.'),
  },
  { status: 'ready' },
);

export const InfoResponse = object('InfoResponse', 'The running version.', { version }, { version: '1.4.0' });

/** The path and hash with which a page embeds one version of the status widget. */
export const StatusWidget = z.strictObject({
  /** The path of this version, whose bytes never change. */
  path: z.string().regex(/^\/v1\/service-status\.[0-9a-f]{16}\.js$/),
  /** For the `integrity` attribute of the script element. */
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
      .describe('URL to fetch; a path such as /health is one of this server.'),
    tcp: HostPort.regex(/:[0-9]+$/, 'must end in a port')
      .optional()
      .describe('host:port to connect to.'),
    interval_seconds: wholeNumber(5, 86_400).optional().describe('Seconds between checks; 60 if left out.'),
    timeout_seconds: wholeNumber(1, 60).optional().describe('Seconds to wait for an answer; 5 if left out.'),
    failures: wholeNumber(1, 100)
      .optional()
      .describe('Consecutive failures before the monitor counts as disrupted; 2 if left out.'),
  })
  .refine(({ url, tcp }) => url !== undefined || tcp !== undefined, 'needs url: "https://..." or tcp: "host:port"')
  .refine(({ url, tcp }) => url === undefined || tcp === undefined, {
    path: ['tcp'],
    error: 'stands beside "url"; keep one of the two',
  });

const localTime = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/, 'must be a local time of the form YYYY-MM-DDTHH:MM');

/** The source `catalog/status.yaml`: the built-in monitors and the planned maintenance. */
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
        start: localTime.describe('Start, as local time in `timezone`.'),
        end: localTime.describe('End, as local time in `timezone`.'),
        timezone: text('IANA name, for example Europe/Berlin.'),
      }),
    )
    .default([]),
});
export type StatusCatalog = z.infer<typeof StatusCatalog>;

const script = {
  tag: 'Status',
  mediaType: 'application/javascript',
  reply: 'The script.',
  failure: 'internal_error',
} as const satisfies Partial<FileEndpoint>;

/** The operations on the state of this instance and of the platform, and the files of the status widget. */
export const statusEntries = {
  getHealth: {
    ...endpointDefaults,
    path: '/health',
    tag: 'Service',
    summary: 'Whether the process is running',
    description: 'For supervisors: it says only that the process lives. It has no rate limit.',
    replies: { 200: json('The process is running.', HealthResponse) },
  },
  getReady: {
    ...endpointDefaults,
    path: '/ready',
    tag: 'Service',
    summary: 'Whether this instance accepts traffic',
    description:
      'For load balancers: during a shutdown, or while the store does not answer, send no requests to this instance.',
    replies: {
      200: json('It accepts traffic.', ReadyResponse),
      503: json('It is shutting down or cannot serve requests yet.', ReadyResponse, { status: 'draining' }),
    },
  },
  getInfo: {
    ...endpointDefaults,
    path: '/v1/info',
    tag: 'Service',
    summary: 'The running version',
    description: 'The version of the program, not of the API: that is info.version of this description.',
    replies: { 200: json('The running version.', InfoResponse) },
  },
  getStatus: {
    ...endpointDefaults,
    stored: 'memory',
    path: '/v1/status',
    tag: 'Status',
    summary: 'Whether the platform is up, under maintenance or disrupted',
    description: 'The lists name the affected components; a list without names is left out.',
    replies: {
      200: json('The state, with the names of the affected components.', StatusResponse),
      503: json('The state is unknown.', StatusErrorResponse),
    },
  },
  getStatusWidget: {
    ...script,
    file: 'public/v1/service-status.js',
    path: '/v1/service-status.js',
    summary: 'The status widget: a script that shows the status on any site',
    description:
      'It draws the state where a page includes it. This address always has the newest version; pages with an integrity attribute use an address with a version.',
  },
  getStatusWidgetVersion: {
    ...script,
    file: 'public/v1/service-status.{version}.js',
    path: '/v1/service-status.{version}.js',
    summary: 'One version of the status widget; its bytes never change',
    description: 'The file v1/service-status.json of a release has its path, and its hash for the integrity attribute.',
    isImmutable: true,
    absent: 'not_found',
  },
  statusWidgetIntegrity: { file: 'public/v1/service-status.json', schema: StatusWidget },
  status: { file: 'private/status.json', schema: StatusCatalog },
} as const satisfies Record<string, Endpoint | FileEndpoint | StaticFile>;
