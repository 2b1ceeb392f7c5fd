import { toKey, toStatus } from './status.ts';
import type { Status } from './status.ts';

const timeoutMs = 8000;
const longestBackoffMs = 300_000;
/** Beyond it a wrong clock or a slip of a server would silence the widget, and setTimeout has a limit of its own. */
const longestWaitMs = 86_400_000;

/**
 * Tells what the service says of the platform, for as long as the page lives: at once, at every interval, and when the
 * page is seen again; never in a hidden page. A service that cannot be reached is asked less and less, and nothing is
 * told of it.
 */
export function startPolling({ src, dataset: data }: HTMLScriptElement, tell: (status: Status) => void): void {
  const api = data.api ?? new URL('/v1/status', src || location.href).href;
  const intervalMs = Math.max(5, Number(data.interval) || 10) * 1000;
  const only = (data.only ?? '').split(',').map(toKey).filter(Boolean);
  let round = 0;
  let failures = 0;
  let notBefore = 0;
  let timer: number | undefined;
  let request: AbortController | undefined;

  const ask = async (url: string): Promise<Status | null | undefined> => {
    const own = (request = new AbortController());
    const limit = setTimeout(() => own.abort(), timeoutMs);
    try {
      const response = await fetch(url, { signal: own.signal, cache: 'no-cache' });
      const wait = response.headers.get('Retry-After');
      if (!response.ok && wait) {
        const ms = Number(wait) * 1000 || Date.parse(wait) - Date.now() || 0;
        notBefore = Date.now() + Math.min(ms, longestWaitMs);
      }
      const status = toStatus(await response.json(), only);
      return response.ok ? status : status && null;
    } catch {
      return undefined;
    } finally {
      clearTimeout(limit);
    }
  };

  const poll = async (): Promise<void> => {
    const mine = ++round;
    let status = await ask(api);
    if (mine !== round) return;
    failures = status ? 0 : failures + 1;
    // Where the service itself says that nobody knows, an older file must not say otherwise.
    if (status === undefined && data.fallback) status = await ask(data.fallback);
    if (mine !== round) return;
    if (status) tell(status);
    const backoff = Math.max(intervalMs, Math.min(longestBackoffMs, intervalMs * 2 ** failures));
    plan(Math.max(backoff * (0.85 + Math.random() * 0.3), (notBefore - Date.now()) * (1 + Math.random() * 0.15)));
  };

  const plan = (ms: number): void => {
    timer = setTimeout(() => void poll(), Math.min(ms, longestWaitMs));
  };

  /** Ends what is under way, and begins anew where someone looks. */
  const restart = (): void => {
    round++;
    clearTimeout(timer);
    request?.abort();
    if (!document.hidden) plan(Math.max(0, notBefore - Date.now()));
  };

  document.addEventListener('visibilitychange', restart);
  addEventListener('online', restart);
  // A page that comes back from the back/forward cache.
  addEventListener('pageshow', (event) => event.persisted && restart());
  restart();
}
