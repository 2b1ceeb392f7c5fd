import { domainToASCII, domainToUnicode } from 'node:url';

/** Whether a label has 1 to 63 letters, digits and hyphens, and no hyphen at either end (RFC 1123 2.1). */
export function isLdhLabel(label: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label);
}

/** RFC 5891 4.2.3.1: only A-labels have hyphens in the third and fourth place, and each must encode a U-label. */
export function isWellFormedLabel(label: string): boolean {
  if (label.slice(2, 4) !== '--') return true;
  if (!label.startsWith('xn--')) return false;
  const unicode = domainToUnicode(label);
  return unicode !== label && unicode !== '' && domainToASCII(unicode) === label;
}
