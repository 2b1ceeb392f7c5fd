import { proxyRequest } from 'h3';
import type { H3 } from 'h3';

/** Forwards /preview to the process of `npm run dev`, which renders it for editors, at an origin such as http://127.0.0.1:1. */
export function addPreview(app: H3, origin: string): void {
  app.use((event) => {
    const { pathname, search } = event.url;
    if (!/^\/preview(?:\/|$)/.test(pathname)) return undefined;
    return proxyRequest(event, `${origin}${pathname}${search}`);
  });
}
