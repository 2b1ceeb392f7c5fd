/** A start or end tag of raw HTML. */
export interface Tag {
  /** Its name in lower case. */
  readonly name: string;
  readonly kind: 'start' | 'end' | 'empty';
  /** The tag as written. */
  readonly text: string;
  /** Where it begins in the HTML. */
  readonly offset: number;
}

/** Each repetition begins with another character, so that the time is linear. */
const markup = /<!--[^]*?(?:-->|$)|<(\/?)([a-z][^\s/><"'`]*)((?:"[^"]*"|'[^']*'|[^"'<>])*)>?/gi;

/** Elements whose content is no HTML. */
const rawText = new Set(['script', 'style', 'textarea', 'title', 'iframe', 'noembed', 'noframes', 'xmp', 'noscript']);

/** Lists the tags of raw HTML, without those in comments, attributes and scripts. */
export function tagsIn(html: string): Tag[] {
  const tags: Tag[] = [];
  let raw: string | undefined;
  for (const { index, 0: text, 1: slash, 2: written, 3: attributes } of html.matchAll(markup)) {
    if (written === undefined) continue;
    const name = written.toLowerCase();
    const kind = slash ? 'end' : attributes?.endsWith('/') ? 'empty' : 'start';
    if (raw !== undefined && !(kind === 'end' && name === raw)) continue;
    raw = kind === 'start' && rawText.has(name) ? name : undefined;
    tags.push({ name, kind, text, offset: index });
  }
  return tags;
}

/** The value of an attribute, and where it begins in its tag. */
export interface Attribute {
  readonly value: string;
  readonly offset: number;
}

/** An attribute of a tag; undefined if there is none. */
export function attributeOf({ text }: Pick<Tag, 'text'>, name: string): Attribute | undefined {
  const match = new RegExp(`\\s${name}\\s*(?:=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]*))|(?=[\\s/>]))`, 'di').exec(text);
  if (!match) return undefined;
  const group = [1, 2, 3].find((at) => match[at] !== undefined);
  return group === undefined
    ? { value: '', offset: match.index + 1 }
    : { value: match[group]!, offset: match.indices![group]![0] };
}
