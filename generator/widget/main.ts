import { startPolling } from './poll.ts';
import { createToast } from './toast.ts';

/** The PUBLIC_URL of the build, or an empty text. */
declare const PUBLIC_URL: string;

/** Matches the URL of a script of this name, such as /v1/service-status.0123456789abcdef.js. */
const ownName = /^https?:[^?#]*\/service-status(\.[\da-f]+)?\.js([?#]|$)/;

/** The name of the widget, and the sessionStorage key of the dismissed status. */
const name = 'service-status';
const guard = Symbol.for(name);

function start(script: HTMLScriptElement, api: string): void {
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
  startPolling(script.dataset, api, (status) => {
    toast.attach();
    const signature = JSON.stringify(status);
    if (signature === latest) return;
    latest = signature;
    // After a recovery, the same incident is shown again.
    if (status.status === 'up' && dismissed) remember('');
    toast.show(status.status === 'up' || signature === dismissed ? undefined : status);
    toast.dispatch(new CustomEvent('statuschange', { detail: status, bubbles: true, composed: true }));
  });
}

// In a module, `currentScript` is null.
const script =
  (document.currentScript as HTMLScriptElement | null) ??
  [...document.scripts].find(({ src }) => ownName.test(src)) ??
  document.createElement('script');
const base = ownName.test(script.src) ? new URL(script.src).origin : PUBLIC_URL;
const api = script.dataset.api || (base && `${base}/v1/status`);

// A page that includes the script twice gets only one widget. Without an address, another include may start.
if (api && !(guard in window)) {
  Object.defineProperty(window, guard, { value: true });
  if (document.body) start(script, api);
  else addEventListener('DOMContentLoaded', () => start(script, api));
}
