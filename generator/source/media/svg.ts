import { SaxesParser } from 'saxes';
import { byteOrderMarkOf } from './format.ts';

/** What an SVG says of its size, or why browsers do not show it. */
export interface Svg {
  readonly width?: number;
  readonly height?: number;
  readonly fault?: SvgFault;
}

/** Why browsers do not show an SVG; line and column count from 1. */
export interface SvgFault {
  readonly message: string;
  readonly hint: string;
  readonly line: number;
  readonly column: number;
}

const namespace = 'http://www.w3.org/2000/svg';

/** Reads an SVG as browsers read that of an `<img>`: it is XML, and one mistake hides the whole picture. */
export function readSvg(bytes: Uint8Array): Svg {
  const text = decode(bytes);
  if (text === undefined) return { fault: { message: notXml, hint: 'save it as UTF-8', line: 1, column: 1 } };
  const parser = new SaxesParser({ xmlns: true });
  let svg: Svg = {};
  let isRoot = true;
  const fail = (message: string, hint: string): void => {
    svg = svg.fault ? svg : { fault: { message, hint, line: parser.line, column: parser.columnIndex + 1 } };
  };
  parser.on('error', ({ message }) => fail(notXml, hintFor(message)));
  parser.on('doctype', (doctype) => {
    // Drawing programs declare their namespaces as entities.
    for (const [, name = '', double, single = ''] of doctype.matchAll(entityDeclaration)) {
      parser.ENTITIES[name] = double ?? single;
    }
  });
  parser.on('opentag', ({ local, uri, attributes }) => {
    if (!isRoot) return;
    isRoot = false;
    const hint = `begin it with <svg xmlns="${namespace}">`;
    if (local !== 'svg' || uri !== namespace) fail('browsers do not show this SVG: its namespace is missing', hint);
    else svg = { ...sizeOf((name) => attributes[name]?.value), ...svg };
  });
  parser.write(text).close();
  return svg;
}

const notXml = 'browsers do not show this SVG: it is not well-formed XML';

const entityDeclaration = /<!ENTITY\s+([\w.:-]+)\s+(?:"([^"]*)"|'([^']*)')/g;

function hintFor(message: string): string {
  if (message.includes('undefined entity')) return 'XML has no names for characters such as &nbsp;; write &#160;';
  const [, prefix] = /unbound namespace prefix: "?([\w-]+)/.exec(message) ?? [];
  if (prefix === 'xlink') return 'add xmlns:xlink="http://www.w3.org/1999/xlink" to <svg>';
  if (prefix !== undefined) return `declare the prefix "${prefix}", or remove what has it`;
  return 'export it again, or correct what stands here';
}

function decode(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 100)).toString('latin1');
  const [, declared] = /^<\?xml[^>]*?\sencoding\s*=\s*["']([\w-]+)["']/.exec(start) ?? [];
  try {
    return new TextDecoder(byteOrderMarkOf(bytes) ?? declared ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The pixels of a unit of CSS. */
const units = new Map([
  ['', 1],
  ['px', 1],
  ['in', 96],
  ['cm', 96 / 2.54],
  ['mm', 96 / 25.4],
  ['q', 96 / 101.6],
  ['pt', 96 / 72],
  ['pc', 16],
]);

/** The size in pixels; a missing or relative length follows from the view box. */
function sizeOf(attribute: (name: string) => string | undefined): Pick<Svg, 'width' | 'height'> {
  const [width, height] = [toPixels(attribute('width')), toPixels(attribute('height'))];
  const box =
    attribute('viewBox')
      ?.trim()
      .split(/[\s,]+/)
      .map(Number) ?? [];
  const [, , boxWidth = 0, boxHeight = 0] = box;
  if (width && height) return { width, height };
  if (box.length !== 4 || !(boxWidth > 0) || !(boxHeight > 0)) return {};
  if (width) return { width, height: (width * boxHeight) / boxWidth };
  if (height) return { width: (height * boxWidth) / boxHeight, height };
  return { width: boxWidth, height: boxHeight };
}

function toPixels(length: string | undefined): number | undefined {
  const [, number, unit = ''] = /^\s*\+?(\d*\.?\d+(?:e[+-]?\d+)?)([a-z]*)\s*$/i.exec(length ?? '') ?? [];
  const factor = units.get(unit.toLowerCase());
  return number === undefined || factor === undefined ? undefined : Number(number) * factor;
}
