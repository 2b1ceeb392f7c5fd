import type { Definition, Heading, Image, Link, Paragraph, TableCell } from 'mdast';
import { distance } from 'fastest-levenshtein';
import { safeHtml } from '../plugins/html.ts';
import { copyIt } from '../plugins/links.ts';
import { startOf } from './rule.ts';
import type { Rule } from './rule.ts';

/** Finds links whose address is empty, mistyped, or removed by the sanitiser. */
export const links: Rule = ({ sourceOf, warn }) => {
  const checkNode = (node: Link | Image | Definition): void => {
    const fault = node.position && faultOf(node.url, node.type === 'image');
    if (!fault) return;
    const source = sourceOf(node);
    // The address follows the text, which may contain the same characters.
    const index = node.url === '' ? source.lastIndexOf('(') + 1 : source.lastIndexOf(node.url);
    warn(startOf(node) + Math.max(0, index), ...fault);
  };
  return {
    link: checkNode,
    image: checkNode,
    definition: checkNode,
    tag({ name, attribute }) {
      if (name !== 'img' && name !== 'a') return;
      const url = attribute(name === 'img' ? 'src' : 'href');
      const fault = url && faultOf(url.value, name === 'img');
      if (fault) warn(url.offset, ...fault);
    },
  };
};

/** The message and hint for an address, if it is wrong. */
type Fault = readonly [message: string, hint: string];

function faultOf(url: string, isPicture: boolean): Fault | undefined {
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

/** Finds pictures without a description. */
export const pictures: Rule = ({ warn }) => {
  const message = 'the picture has no description';
  return {
    image(node) {
      if (!node.alt?.trim()) warn(startOf(node), message, `write what it shows: ![text](${node.url})`);
    },
    imageReference(node) {
      if (!node.alt?.trim()) warn(startOf(node), message, `write what it shows: ![text][${node.label ?? ''}]`);
    },
    tag({ name, offset, attribute }) {
      // An empty description means that the picture shows nothing.
      if (name !== 'img' || attribute('alt')) return;
      warn(offset, message, 'add alt="what it shows", or alt="" if it shows nothing');
    },
  };
};

const undefinedReference = /(?<![\w)\]'"])(!?)(\[[^[\]]*)?\]\[([^[\]\n]*)\]/g;
/** Not a class of characters, such as [^a-z]. */
const undefinedFootnote = /\[\^(?!\w-\w\])([\w-]+)\]/g;

/** Finds links, pictures and footnotes that stay as text. Brackets alone are common in texts and not reported. */
export const references: Rule = ({ source, plainTextOf, warn }) => {
  // remark-lint-no-undefined-references reports brackets alone too, with many more packages.
  if (!/\]\[|\[\^|\][ \t]+\(|\]\([^()\n]*[ \t]/.test(source)) return {};
  const check = (node: Paragraph | Heading | TableCell): void => {
    const text = plainTextOf(node);
    const start = startOf(node);
    for (const { index, 0: whole, 1: mark, 2: shown, 3: label } of text.matchAll(undefinedReference)) {
      const name = label || shown?.slice(1);
      // An index of a list, as in a[0][1] or $a['b']['c'].
      if (!name?.trim() || /^(?:['"$]|\d+$)/.test(name)) continue;
      const what = mark ? 'picture' : 'link';
      const written = source.slice(start + index, start + index + whole.length);
      const hint = `write ${mark}[text](address), or add a line "[${name}]: address"`;
      const short = shown && written.length <= 50 ? written.replace(/\s+/g, ' ') : `${mark}[...][${label}]`;
      warn(start + index, `"${short}" is no ${what}: nothing defines [${name}]`, hint);
    }
    for (const { index, 1: name } of text.matchAll(undefinedFootnote)) {
      warn(start + index, `there is no footnote [^${name}]`, `add a line "[^${name}]: its text"`);
    }
    for (const { index, 0: shown, 1: name = '', 2: space = '' } of text.matchAll(/\[([^[\]\n]*)\]([ \t]*)\(/g)) {
      if (!/\p{L}/u.test(name)) continue;
      const at = start + index + shown.length;
      const message = `"${source.slice(start + index, at)}...)" is no link`;
      const address = addressAt(source, at);
      if (space && address && !/\s/.test(address)) {
        warn(at - space.length - 1, message, 'delete the space before the parenthesis');
      } else if (!space && address && /[^ \t][ \t]+[^ \t]/.test(address)) {
        warn(at, message, 'write %20 for each space in the address');
      }
    }
  };
  return { paragraph: check, heading: check, tableCell: check };
};

const inParentheses = /[^()\n"'<>]*(?=\))/y;

/** The text up to the closing parenthesis, if it looks like an address; parts of it may have become a link of their own. */
function addressAt(source: string, index: number): string | undefined {
  inParentheses.lastIndex = index;
  const [address = ''] = inParentheses.exec(source) ?? [];
  return /^(?:https?:\/\/|\.{0,2}\/|#)|\.(?:md|png|jpe?g|svg|webp|gif|pdf)$/i.test(address) ? address : undefined;
}
