import { z } from 'zod';
import { HostPort, HttpUrl, Line, describeUnsafe, schemas } from '#contract/primitives.ts';

/** The state of the platform, with the names of the affected components. */
export const StatusResponse = z
  .strictObject({
    status: z.enum(['up', 'maintenance', 'disrupted']).describe('The state; a disruption outweighs a maintenance.'),
    maintenance: z
      .array(z.string())
      .optional()
      .describe('Names of the components under maintenance, if there are any.'),
    disrupted: z.array(z.string()).optional().describe('Names of the disrupted components, if there are any.'),
  })
  .register(schemas, {
    id: 'StatusResponse',
    description: 'The state of the platform, with the names of the affected components.',
    example: { status: 'disrupted', disrupted: ['Game servers'] },
  });

/** The state of the platform is unknown. */
export const StatusErrorResponse = z.strictObject({ status: z.string().describe('Always error.') }).register(schemas, {
  id: 'StatusErrorResponse',
  description: 'The state of the platform is unknown.',
  example: { status: 'error' },
});

const version = z.string().describe('The running version of the service.');

/** The process is running. */
export const HealthResponse = z
  .strictObject({ status: z.string().describe('Always healthy.'), version })
  .register(schemas, {
    id: 'HealthResponse',
    description: 'Whether the process is running, with its version.',
    example: { status: 'healthy', version: '1.4.0' },
  });

/** Whether this instance accepts traffic. */
export const ReadyResponse = z
  .strictObject({
    status: z
      .enum(['ready', 'draining', 'unready'])
      .describe('The state: ready, draining before a shutdown, or unready while the store does not answer.'),
  })
  .register(schemas, {
    id: 'ReadyResponse',
    description: 'Whether this instance accepts traffic.',
    example: { status: 'ready' },
  });

/** The running version. */
export const InfoResponse = z
  .strictObject({ version })
  .register(schemas, { id: 'InfoResponse', description: 'The running version.', example: { version: '1.4.0' } });

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
  maintenance: z.array(
    z.strictObject({
      title: Line.describe('Title of the maintenance.'),
      monitors: z
        .array(z.string())
        .min(1, 'must name at least one monitor')
        .describe('Names of the affected monitors.'),
      start: localTime.describe('Start, as local time in `timezone`.'),
      end: localTime.describe('End, as local time in `timezone`.'),
      timezone: z.string().describe('IANA name, for example Europe/Berlin.'),
    }),
  ),
});
export type StatusCatalog = z.infer<typeof StatusCatalog>;
