import { escapeXml } from './xml.ts';

/** The addresses that an article refers to without a host. */
export interface Bases {
  /** The address of the page of the article. */
  readonly page: string;
  readonly site: string;
  readonly service: string;
}

/** A start tag as rehype-stringify writes it: values are in double quotes, and `<` in text is escaped. */
const tag = /<[a-z][^\s>]*(?:\s+[^\s"'=<>]+(?:="[^"]*")?)+\s*\/?>/gi;
const attribute = /(\s+[^\s"'=<>]+)="([^"]*)"/g;
const holdsUrl = /^\s+(?:href|src|poster|cite|longdesc)$/i;

/** Makes the URLs in the HTML of an article absolute: media are on the service, everything else is on the website. */
export function toAbsoluteUrls(html: string, { page, site, service }: Bases): string {
  const [pageUrl, siteUrl, serviceUrl] = [escapeXml(page), escapeXml(site), escapeXml(service)];
  const folder = pageUrl.slice(0, pageUrl.lastIndexOf('/') + 1);
  const toAbsolute = (url: string): string => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(url)) return url;
    if (url.startsWith('//')) return `https:${url}`;
    if (url.startsWith('/media/')) return serviceUrl + url;
    if (url.startsWith('/')) return siteUrl + url;
    return (/^(?:[#?]|$)/.test(url) ? pageUrl : folder) + url;
  };
  return html.replace(tag, (start) =>
    start.replace(attribute, (whole, name: string, value: string) => {
      if (holdsUrl.test(name)) return `${name}="${toAbsolute(value)}"`;
      if (!/^\s+srcset$/i.test(name)) return whole;
      const list = value.replace(/([^\s,]\S*[^\s,])([^,]*)/g, (_, url: string, size: string) => toAbsolute(url) + size);
      return `${name}="${list}"`;
    }),
  );
}
