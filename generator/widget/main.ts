import { startPolling } from './poll.ts';
import { createToast } from './toast.ts';

/** Also the sessionStorage key of the dismissed status. */
const name = 'service-status';
const guard = Symbol.for(name);

function start(script: HTMLScriptElement): void {
  let latest = '';
  // Storage may be blocked; then the page keeps the value in memory only.
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
    remember(latest);
    toast.show(undefined);
  });
  startPolling(script, (status) => {
    const signature = JSON.stringify(status);
    if (signature === latest) return;
    latest = signature;
    // The same incident after a recovery is shown again.
    if (status.status === 'up' && dismissed) remember('');
    toast.show(status.status === 'up' || signature === dismissed ? undefined : status);
    toast.dispatch(new CustomEvent('statuschange', { detail: status, bubbles: true, composed: true }));
  });
}

// A page that includes the script twice gets one widget.
if (!(guard in window)) {
  Object.defineProperty(window, guard, { value: true });
  // `currentScript` is set only while a classic script runs; in a module the widget has no settings.
  const script = (document.currentScript as HTMLScriptElement | null) ?? document.createElement('script');
  if (document.body) start(script);
  else addEventListener('DOMContentLoaded', () => start(script));
}
