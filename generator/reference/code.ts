/** A request, which the examples show and the page sends. */
export interface Call {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** The request needs the key, which stands in the file `.key`. */
  readonly isKeyed: boolean;
}

/** A value of a parameter or of the body; empty if left out. */
export interface Field {
  readonly name: string;
  readonly in: string;
  readonly value: string;
}

/** The parts of an operation that no field changes. */
export type Target = Pick<Call, 'method' | 'isKeyed'> & { readonly path: string };

const encode = (value: string): string => encodeURIComponent(value.toWellFormed()).replaceAll('%2F', '/');

/** Creates the request of an operation with the values of its fields. */
export function toCall({ method, path, isKeyed }: Target, origin: string, fields: readonly Field[]): Call {
  const valuesIn = (place: string) => fields.filter((field) => field.in === place && field.value !== '');
  const filled = path.replaceAll(/\{(\w+)\}/g, (template, name: string) => {
    const field = valuesIn('path').find((each) => each.name === name);
    return field ? encode(field.value) : template;
  });
  const query = valuesIn('query').map(({ name, value }) => `${name}=${encode(value)}`);
  const body = valuesIn('body')[0]?.value;
  const headers = valuesIn('header').map(({ name, value }) => [name, value] as const);
  return {
    method,
    url: `${origin}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    headers: Object.fromEntries([...(body === undefined ? [] : [['Content-Type', 'application/json']]), ...headers]),
    body,
    isKeyed,
  };
}

const quote = (text: string): string =>
  `'${text.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`;
const shellQuote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The languages of the examples; each program runs as it is, next to the file `.key`. */
export const languages = {
  curl({ method, url, headers, body, isKeyed }) {
    const parts = [
      method === 'GET' ? 'curl' : `curl -X ${method}`,
      ...(isKeyed ? ['-H @.key'] : []),
      ...Object.entries(headers).map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
      ...(body === undefined ? [] : [`-d ${shellQuote(body)}`]),
      /[^\w:/.-]/.test(url) ? shellQuote(url) : url,
    ];
    return parts.join(parts.length > 2 ? ' \\\n  ' : ' ');
  },
  TypeScript({ method, url, headers, body, isKeyed }) {
    const names = Object.entries(headers).map(([name, value]) => `${quote(name)}: ${quote(value)}`);
    const all = [...(isKeyed ? ['authorization'] : []), ...names].join(', ');
    const options = [
      ...(method === 'GET' ? [] : [`method: ${quote(method)}`]),
      ...(all === '' ? [] : [`headers: { ${all} }`]),
      ...(body === undefined ? [] : [`body: ${quote(body)}`]),
    ];
    const given =
      options.length > 1 ? `, {\n  ${options.join(',\n  ')},\n}` : options.map((one) => `, { ${one} }`).join('');
    const read = String.raw`const [authorization] = /Bearer \w+/.exec(readFileSync('.key', 'latin1').replaceAll('\0', ''))!;`;
    return [
      ...(isKeyed ? ["import { readFileSync } from 'node:fs';", '', read] : []),
      `const response = await fetch(${quote(url)}${given});`,
      'console.log(response.status, await response.text());',
    ].join('\n');
  },
  Python({ method, url, headers, body, isKeyed }) {
    const names = Object.entries(headers).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
    const all = [...(isKeyed ? ['"Authorization": authorization'] : []), ...names].join(', ');
    const given = [
      JSON.stringify(url),
      ...(method === 'GET' ? [] : [`method=${JSON.stringify(method)}`]),
      ...(all === '' ? [] : [`headers={${all}}`]),
      ...(body === undefined ? [] : [`data=${JSON.stringify(body)}.encode()`]),
    ];
    const read = String.raw`open(".key", encoding="latin-1").read().replace("\0", "").strip().split(": ")[1]`;
    return [
      'from urllib.request import Request, urlopen',
      '',
      ...(isKeyed ? [`authorization = ${read}`] : []),
      `request = Request(${given.length > 1 ? `\n    ${given.join(',\n    ')},\n` : given[0]!})`,
      'with urlopen(request) as response:',
      '    print(response.status, response.read().decode(errors="replace"))',
    ].join('\n');
  },
} satisfies Record<string, (call: Call) => string>;

const token =
  /("(?:[^"\\\n]|\\.)*"(?=:))|('(?:[^'\\]|\\.)*'|"(?:[^"\\\n]|\\.)*")|((?<=^|[\s(])(?:curl|import|from|const|await|with|as|true|false|null)\b|(?<=^\s*|: )-?\d[\d.]*(?=,?$))/gm;
const kinds = ['', 'attr', 'string', 'keyword'];

/** Splits JSON or an example into texts, each with the class of highlight.js for its color. */
export function paint(code: string): { readonly text: string; readonly kind: string }[] {
  const parts: { text: string; kind: string }[] = [];
  let end = 0;
  for (const match of code.matchAll(token)) {
    parts.push({ text: code.slice(end, match.index), kind: '' });
    const [text] = match;
    parts.push({ text, kind: `hljs-${kinds[match.findIndex((group, at) => at > 0 && group !== undefined)]}` });
    end = match.index + text.length;
  }
  return [...parts, { text: code.slice(end), kind: '' }].filter(({ text }) => text !== '');
}
