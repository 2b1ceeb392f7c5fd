import { distance } from 'fastest-levenshtein';
import type { Definition, Image, Link } from 'mdast';
import { safeHtml } from '../plugins/html.ts';
import { copyIt } from '../plugins/links.ts';
import { startOf } from './linted.ts';
import type { Linted } from './linted.ts';

/** Finds an address that is empty, mistyped, or removed by the sanitiser. */
export function checkAddress(node: Link | Image | Definition, { sourceOf, warn }: Linted): void {
  const fault = node.position && faultOf(node.url, node.type === 'image');
  if (!fault) return;
  const source = sourceOf(node);
  // The address follows the text, which may contain the same characters.
  const index = node.url === '' ? source.lastIndexOf('(') + 1 : source.lastIndexOf(node.url);
  warn(startOf(node) + Math.max(0, index), ...fault);
}

/** The message and hint for an address, if it is wrong. */
type Fault = readonly [message: string, hint: string];

/** What is wrong with an address, if it is. */
export function faultOf(url: string, isPicture: boolean): Fault | undefined {
  // A picture without an address is a missing file, which is reported as an error.
  if (url === '') return isPicture ? undefined : ['the link has no address', 'write it between the parentheses'];
  if (url.startsWith('/')) return faultOfPath(url);
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(url) ?? [];
  if (scheme === undefined) return undefined;
  const allowed = safeHtml.protocols?.[isPicture ? 'src' : 'href'] ?? [];
  if (!allowed.includes(scheme.toLowerCase())) return faultOfScheme(url, scheme, isPicture);
  if (!/^https?$/i.test(scheme)) return undefined;
  const rest = url.slice(scheme.length + 1).replace(/^\/*/, '');
  const [again] = /^https?:?\/\//i.exec(rest) ?? [];
  if (again !== undefined)
    return [`the link "${url}" has two schemes`, didYouMean(`https://${rest.slice(again.length)}`)];
  if (/^https?:\/\/[^/?#]/i.test(url)) return undefined;
  return [`the link "${url}" has no host`, rest === '' ? 'write the whole address' : didYouMean(`${scheme}://${rest}`)];
}

function faultOfScheme(url: string, scheme: string, isPicture: boolean): Fault {
  const message = `${isPicture ? 'pictures' : 'links'} with "${scheme}:" are removed`;
  if (/^(?:file|[a-z])$/i.test(scheme)) return [message, copyIt];
  if (scheme === 'data') return [message, 'save the picture in content/media/'];
  if (otherSchemes.test(scheme)) return [message, 'write the address as text'];
  const rest = url.slice(scheme.length + 1);
  // A host with a port looks like a scheme.
  if (/^\d+(?:[/?#]|$)/.test(rest) && !/^\d{6}/.test(rest)) return [message, didYouMean(`http://${url}`)];
  const similar = rest.startsWith('//') && distance(scheme.toLowerCase(), 'http') <= 2 ? 'http' : undefined;
  const better = distance(scheme.toLowerCase(), 'https') <= 1 ? 'https' : similar;
  return [message, better ? didYouMean(`${better}:${rest}`) : 'write the address as text'];
}

/** Schemes that are no mistakes. */
const otherSchemes = /^(?:s?ftps?|smtps?|tcp|udp|ssh|wss?|tel|sms)$/i;

const folders = ['blog', 'knowledgebase', 'media'];
const synonyms: Readonly<Record<string, string>> = { kb: 'knowledgebase', knowledge: 'knowledgebase' };

/** Whether the first folder of a path is a mistyped folder of content/; other pages of the site are not known here. */
function faultOfPath(path: string): Fault | undefined {
  const [, folder, rest = ''] = /^\/([^/?#]+)(\/.*)$/s.exec(path) ?? [];
  if (folder === undefined || folders.includes(folder)) return undefined;
  const name = folder.toLowerCase().replace(/[-_]|%20/g, '');
  const meant =
    synonyms[name] ?? folders.find((other) => distance(name, other) <= Math.max(1, Math.floor(other.length / 4)));
  if (meant === undefined) return undefined;
  return [`there is no folder /${folder}/ in content/`, didYouMean(`/${meant}${rest}`)];
}

const didYouMean = (better: string): string => `did you mean "${better}"?`;
