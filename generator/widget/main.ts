import { startPolling } from './poll.ts';
import { createToast } from './toast.ts';

/** Also the name under which a session remembers what was dismissed. */
const name = 'service-status';
const guard = Symbol.for(name);

function start(script: HTMLScriptElement): void {
  let known = '';
  // Storage may be blocked: then a page remembers for itself.
  let dismissed: string | null = null;
  try {
    dismissed = sessionStorage.getItem(name);
  } catch {}

  const remember = (signature: string): void => {
    dismissed = signature;
    try {
      sessionStorage.setItem(name, signature);
    } catch {}
  };
  const toast = createToast(script, () => {
    remember(known);
    toast.show(undefined);
  });
  startPolling(script, (status) => {
    const signature = JSON.stringify(status);
    if (signature === known) return;
    known = signature;
    // The same trouble after a recovery is news.
    if (status.status === 'up' && dismissed) remember('');
    toast.show(status.status === 'up' || signature === dismissed ? undefined : status);
    toast.dispatch(new CustomEvent('statuschange', { detail: status, bubbles: true, composed: true }));
  });
}

// However often a page includes the script, it is one widget.
if (!(guard in window)) {
  Object.defineProperty(window, guard, { value: true });
  // Known only now, while the script runs for the first time, and not in a module, which then has no settings.
  const script = (document.currentScript as HTMLScriptElement | null) ?? document.createElement('script');
  if (document.body) start(script);
  else addEventListener('DOMContentLoaded', () => start(script));
}
