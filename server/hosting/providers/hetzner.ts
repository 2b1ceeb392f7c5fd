import { z } from 'zod';
import { createClient } from '../../upstream/client.ts';
import type { Reply } from '../../upstream/client.ts';
import { parseJson, toProviderError, toRefusal } from '../../upstream/reply.ts';
import { Secret, UpstreamUrl } from '../../upstream/settings.ts';
import type { Outcome } from '../../upstream/error.ts';
import { refs } from './refs.ts';
import type { Finding, Provider, VpsAction } from './types.ts';

/** The settings of a Hetzner Cloud project. */
export const HetznerSettings = z.strictObject({
  type: z.literal('hetzner'),
  /** A read/write token; it belongs to one project. */
  token: Secret,
  url: UpstreamUrl.default('https://api.hetzner.cloud/v1'),
  /** `shutdown` sends an ACPI request, which the VPS may ignore; `poweroff` cuts the power. */
  stop: z.enum(['shutdown', 'poweroff']).default('shutdown'),
});
export type HetznerSettings = z.infer<typeof HetznerSettings>;

const Answer = z.object({ action: z.object({ status: z.enum(['running', 'success', 'error']) }) });
const Failure = z.object({ error: z.object({ code: z.string() }) });

/** Codes that mean that no action was started. The HTTP status of a code is undocumented, so the code decides. */
const refusals = new Set([
  'conflict',
  'forbidden',
  'invalid_input',
  'json_error',
  'locked',
  'maintenance',
  'not_found',
  'rate_limit_exceeded',
  'resource_locked',
  'token_readonly',
  'unauthorized',
  'unsupported_error',
]);

/** Codes after which the action may have taken effect, with any status. */
const ambiguous = new Set(['bad_gateway', 'server_error', 'service_error', 'timeout', 'unavailable']);

/** Creates the provider of VPS in a Hetzner Cloud project; a server's `ref` is its number there. */
export function createHetzner(settings: HetznerSettings, options: { readonly timeoutMs: number }): Provider {
  const client = createClient({
    baseUrl: settings.url,
    headers: { authorization: `Bearer ${settings.token}` },
    timeoutMs: options.timeoutMs,
  });
  const paths: Record<VpsAction, string> = { start: 'poweron', stop: settings.stop, reset: 'reset' };
  return {
    vps: {
      async power(ref, action, deadline, confirm) {
        if (!refs.hetzner.pattern.test(ref)) throw toRefusal(`"${ref}" is not a server number of Hetzner Cloud`);
        const reply = await client.request('POST', `/servers/${ref}/actions/${paths[action]}`, {
          signal: deadline,
          confirm,
        });
        if (reply.status < 200 || reply.status > 299) throw toProviderError(reply, toOutcome(reply));
        // Running actions may have an `error` too, by the documentation's samples, so only the status counts.
        const status = parseJson(reply.text, Answer)?.action.status;
        if (status !== 'running' && status !== 'success') throw toProviderError(reply, 'unknown');
      },
    },
    async check(): Promise<Finding[]> {
      try {
        const { status } = await client.request('GET', '/servers?per_page=1');
        if (status === 200) return [{ level: 'info', message: 'The token is accepted' }];
        return [{ level: 'error', message: `The token is not accepted: status ${status}` }];
      } catch {
        return [{ level: 'warn', message: 'Hetzner Cloud cannot be reached' }];
      }
    },
    close: () => client.close(),
  };
}

function toOutcome({ status, text }: Reply): Outcome {
  const code = parseJson(text, Failure)?.error.code ?? '';
  if (refusals.has(code)) return 'refused';
  return status < 500 && status !== 408 && !ambiguous.has(code) ? 'refused' : 'unknown';
}
