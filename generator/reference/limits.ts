import { bodyLimits, rateLimits } from '#contract/limits.ts';
import { html } from '../html.ts';
import { renderPage, renderTable } from './page.ts';
import type { Assets } from './page.ts';

/** Renders the page of all limits. */
export function renderLimits(assets: Assets): string {
  const rates = Object.values(rateLimits).map(({ requests, burst, refill, seconds, countedFor }) => [
    requests,
    burst,
    seconds === 1 ? `${refill} a second` : `${refill} in ${seconds} seconds`,
    countedFor,
  ]);
  const bodies = [
    ['A vote on an article', `${bodyLimits.feedback / 1024} KiB`],
    ['Any other body', `${bodyLimits.others / 1024} KiB`],
  ];
  const main = html`<h1>Limits</h1>
    <p>
      These limits apply unless the operator has set others. <code>RateLimit-Policy</code> and <code>RateLimit</code>,
      on answers that no cache may keep, name the limit that applies and what is left of it. A request over a limit gets
      429, and <code>Retry-After</code> has the seconds to wait. IPv6 addresses are counted by their /64 network.
    </p>
    ${renderTable('Rate limits', ['Requests', 'At once', 'Then', 'Counted for'], rates)}
    <h2 id="bodies">Bodies</h2>
    <p>A larger body is an error 400, and so is a compressed one.</p>
    ${renderTable('Largest bodies', ['Body', 'At most'], bodies)}`;
  return renderPage({ path: '/docs/limits.html', main }, assets);
}
