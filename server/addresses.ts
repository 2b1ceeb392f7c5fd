import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { baseUrlRule, toBaseUrl } from '#common/environment.ts';
import { isLoopback } from './upstream/settings.ts';

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
);

/** Origins that may read, or `*`. */
export const Origins = list.refine(
  (origins) =>
    origins.every((origin) => origin === '*' || (!origin.includes('*') && URL.parse(origin)?.origin === origin)),
  'must be *, or origins such as https://www.example.com, separated by commas',
);

/** IP addresses and networks. */
export const Networks = list.transform((networks, context) => {
  const trusted = new BlockList();
  for (const network of networks) {
    const [, address = '', prefix] = /^([^/]+)(?:\/(\d+))?$/.exec(network) ?? [];
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    const bits = Number(prefix ?? most);
    if (version === 0 || bits > most) {
      context.addIssue('must be IP addresses and networks such as 10.0.0.0/8, separated by commas');
      return z.NEVER;
    }
    trusted.addSubnet(address, bits, version === 6 ? 'ipv6' : 'ipv4');
  }
  return trusted;
});

/** The URL of a webhook: like that of an upstream, but with a query, which some webhooks have. */
export const WebhookUrl = z.string().refine((text) => {
  const url = URL.parse(text);
  return (
    url !== null &&
    !url.username &&
    !url.password &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)))
  );
}, 'must be an https:// URL without a user (http:// only on loopback)');

/** The address of a website or of this service, to which paths are added. */
export const BaseUrl = z.string().transform((text, context) => {
  const url = toBaseUrl(text);
  if (url !== undefined) return url;
  context.addIssue(baseUrlRule);
  return z.NEVER;
});

/** Resolvers as `ip:port`, or `off`. */
export const DnsServers = list.transform((servers, context): 'off' | string[] => {
  if (servers.length === 1 && servers[0] === 'off') return 'off';
  if (servers.length > 0 && servers.every(isAddress)) return servers;
  context.addIssue('must be off, or IP addresses with an optional port, such as 9.9.9.9 or 127.0.0.1:5353');
  return z.NEVER;
});

/** The address to listen on. */
export const Host = z.string().refine(isHost, 'must be an IP address or a host name');

/** Whether a text is an IP address with an optional port; an IPv6 address with a port needs brackets. */
function isAddress(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  return isIP(six ?? four ?? '') === (six === undefined ? 4 : 6) && Number(port) > 0 && Number(port) < 65_536;
}

/** Whether a text is an address or a name without a port. For anything else, listhen would listen on localhost. */
function isHost(host: string): boolean {
  return isIP(host) !== 0 || /^(?!-)[\dA-Za-z.-]{1,63}(?<!-)$/.test(host);
}
