import { startPolling } from './poll.ts';
import { createToast } from './toast.ts';

/** The name of the widget, and the sessionStorage key of the dismissed status. */
const name = 'service-status';
const guard = Symbol.for(name);

function start(script: HTMLScriptElement): void {
  let latest = '';
  // Storage may be blocked; the value then lasts only as long as the page.
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
    // After a recovery, the same incident is shown again.
    if (status.status === 'up' && dismissed) remember('');
    toast.show(status.status === 'up' || signature === dismissed ? undefined : status);
    toast.dispatch(new CustomEvent('statuschange', { detail: status, bubbles: true, composed: true }));
  });
}

// A page that includes the script twice gets only one widget.
if (!(guard in window)) {
  Object.defineProperty(window, guard, { value: true });
  // In a module, `currentScript` is null, and the widget has no settings.
  const script = (document.currentScript as HTMLScriptElement | null) ?? document.createElement('script');
  if (document.body) start(script);
  else addEventListener('DOMContentLoaded', () => start(script));
}
