import { readFileSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import { createUptimeKuma } from '../../server/status/uptime-kuma.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { Answer } from '../helpers/upstream.ts';
import { failureOf } from '../helpers/fault-suite.ts';

/** The answers for a page and its heartbeats. */
export interface Recording {
  readonly page: unknown;
  readonly heartbeat: { readonly heartbeatList: Record<string, unknown[]> };
}
/** The answers of one version. */
export interface Recorded {
  readonly main: Recording;
  readonly later: Recording;
  readonly empty: Recording;
  readonly unknownSlugHeartbeat: unknown;
  readonly unknownSlugPage?: unknown;
  readonly unknownPath: string;
}

/** Recorded answers of real installations, with the last three heartbeats of each monitor. */
export const recorded = (version: string): Recorded =>
  JSON.parse(readFileSync(`test/fixtures/uptime-kuma/${version}.json`, 'utf8')) as Recorded;

/** An answer in JSON. */
export const json = (body: unknown): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(body),
});
/** The HTML page of Uptime Kuma for unknown addresses. */
export const html: Answer = {
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: '<!DOCTYPE html>',
};

/** Creates an Uptime Kuma stand-in and the source for its page `main`. */
export async function setUp(page: Answer, heartbeat: Answer, { at = '2026-11-20T09:52:00Z', timeoutMs = 20_000 } = {}) {
  const upstream = await createUpstream(({ path }) => (path.includes('/heartbeat/') ? heartbeat : page));
  const source = createUptimeKuma({ url: upstream.url, page: 'main' }, { timeoutMs, now: () => Date.parse(at) });
  onTestFinished(() => source.close());
  return { upstream, source };
}

/** Creates both from a recording. */
export const setUpRecording = ({ page, heartbeat }: Recording, options?: { at?: string; timeoutMs?: number }) =>
  setUp(json(page), json(heartbeat), options);

/** Creates both for monitors with the statuses of their heartbeats, one per minute; the last is the current one. */
export const setUpMonitors = (monitors: readonly (readonly [name: string, ...statuses: unknown[]])[]) =>
  setUp(
    json({ publicGroupList: [{ monitorList: monitors.map(([name], id) => ({ id, name })) }] }),
    json({
      heartbeatList: Object.fromEntries(
        monitors.map(([, ...statuses], id) => [
          id,
          statuses.map((status, index) => {
            const at = Date.parse('2026-11-20T09:52:00Z') - (statuses.length - 1 - index) * 60_000;
            return { status, time: new Date(at).toISOString().replace('T', ' ').replace('Z', '') };
          }),
        ]),
      ),
    }),
  );

/** The detail of an error, which only the log shows. */
export async function detailOf(reading: Promise<unknown>): Promise<string> {
  const error = await failureOf(reading);
  expect(error).toMatchObject({ code: 'provider_error' });
  // The doctor prints it, so it must hold nothing of the answer.
  expect([
    'The request could not be completed',
    'no monitor is on the page',
    'no monitor has a beat of the last hour',
    'not an answer of a status page',
  ]).toContain((error as Error).message);
  return String(error.cause);
}
