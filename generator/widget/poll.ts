import { toAbsolute, toKey, toStatus } from './status.ts';
import type { WidgetStatus } from './status.ts';

const timeoutMs = 8000;
const maxBackoffMs = 300_000;
/** Caps Retry-After, which may be wrong, and timers, which overflow. */
const maxWaitMs = 86_400_000;

/**
 * Polls the platform status immediately, at every interval, and when the page becomes visible again, but never in a
 * hidden page. While the service is unreachable, polls with backoff and does not call `onStatus`.
 */
export function startPolling(data: DOMStringMap, api: string, onStatus: (status: WidgetStatus) => void): void {
  const intervalMs = Math.max(5, Number(data.interval) || 10) * 1000;
  const only = (data.only ?? '').split(',').map(toKey).filter(Boolean);
  const [address, fallback] = [toAbsolute(api), data.fallback && toAbsolute(data.fallback)];
  let round = 0;
  let failures = 0;
  let notBefore = 0;
  let timer: number | undefined;
  let request: AbortController | undefined;

  const fetchStatus = async (url: string): Promise<WidgetStatus | null | undefined> => {
    const controller = (request = new AbortController());
    const timeout = setTimeout(() => controller.abort(), timeoutMs);
    try {
      const response = await fetch(url, { signal: controller.signal, cache: 'no-cache' });
      const retryAfter = response.headers.get('Retry-After');
      if (!response.ok && retryAfter) {
        const ms = Number(retryAfter) * 1000 || Date.parse(retryAfter) - Date.now() || 0;
        notBefore = Date.now() + Math.min(ms, maxWaitMs);
      }
      const status = toStatus(await response.json(), only);
      return response.ok ? status : status && null;
    } catch {
      return undefined;
    } finally {
      clearTimeout(timeout);
    }
  };

  const poll = async (): Promise<void> => {
    const ownRound = ++round;
    let status = await fetchStatus(address);
    if (ownRound !== round) return;
    failures = status ? 0 : failures + 1;
    // If the service reports an unknown state (null), an older fallback file must not contradict it.
    if (status === undefined && fallback) status = await fetchStatus(fallback);
    if (ownRound !== round) return;
    if (status) onStatus(status);
    const backoff = Math.max(intervalMs, Math.min(maxBackoffMs, intervalMs * 2 ** failures));
    schedule(Math.max(backoff * (0.85 + Math.random() * 0.3), (notBefore - Date.now()) * (1 + Math.random() * 0.15)));
  };

  const schedule = (ms: number): void => {
    timer = setTimeout(() => void poll(), Math.min(ms, maxWaitMs));
  };

  /** Aborts the current poll, and starts another if the page is visible. */
  const restart = (): void => {
    round++;
    clearTimeout(timer);
    request?.abort();
    if (!document.hidden) schedule(Math.max(0, notBefore - Date.now()));
  };

  document.addEventListener('visibilitychange', restart);
  addEventListener('online', restart);
  // The page was restored from the back/forward cache.
  addEventListener('pageshow', (event) => event.persisted && restart());
  restart();
}
