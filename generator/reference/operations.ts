import { isLimited, keyAccess, rateLimits } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import type { OpenApi, Operation } from '#contract/openapi.ts';
import { escapeXml, html, trusted } from '../markdown/markup.ts';
import type { Markup } from '../markdown/markup.ts';
import { languages, paint, toCall } from './code.ts';
import type { Field } from './code.ts';

/** A JSON Schema of the document. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | false;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
}

/** An operation of the document, with its entry of the contract. */
export type Described = Operation & { readonly method: string; readonly path: string; readonly endpoint: Endpoint };

/** The address of the page of a tag. */
export const addressOf = (tag: string): string => `/docs/api/${tag.toLowerCase().replaceAll(' ', '-')}.html`;

/** The title of an operation; the navigation has only its first words. */
export const titleOf = ({ summary }: Pick<Operation, 'summary'>, end = /;/): string => summary.split(end)[0]!;

/** Writes how a rate limit goes on after its burst. */
export const toRate = ({ refill, seconds }: { readonly refill: number; readonly seconds: number }): string =>
  seconds === 1 ? `${refill} a second` : `${refill} in ${seconds} seconds`;

export const renderMethod = (method: string): Markup =>
  html`<span class="method ${method.toLowerCase()}">${method}</span>`;

/** Renders the bar of a card: a choice of languages, or a title, and a copy button. */
export function renderBar(titles: readonly string[]): Markup {
  const choices = titles.map((title) => html`<button type="button" aria-pressed="false">${title}</button>`);
  const copy = html`<button type="button" class="copy">Copy</button>`;
  return html`<div class="bar">${titles.length > 1 ? choices : html`<span>${titles}</span>`} ${copy}</div>`;
}

const renderCard = (title: string, code: string): Markup =>
  html`<div class="card">
    <div class="bar"><span>${title}</span></div>
    <pre tabindex="0">${renderCode(code)}</pre>
  </div>`;

const renderCode = (code: string): Markup => {
  const parts = paint(code).map(({ text, kind }) => (kind === '' ? text : html`<span class="${kind}">${text}</span>`));
  return html`<code>${parts}</code>`;
};

const renderTerm = (term: Markup, text: Markup | string): Markup =>
  html`<div>
    <dt>${term}</dt>
    <dd>${text}</dd>
  </div>`;

const renderFold = (title: string, parts: readonly Markup[], isList = true): Markup | false =>
  parts.length > 0 &&
  html`<details>
    <summary>${title}</summary>
    ${isList ? html`<dl>${parts}</dl>` : parts}
  </details>`;

/** A field of a form. */
interface FormField extends Field {
  readonly required: boolean;
  /** Only the customer has the value. */
  readonly isOwn: boolean;
}

const renderList = (title: string, fields: readonly Markup[]): Markup | false =>
  fields.length > 0 &&
  html`<h3>${title}</h3>
    <dl>${fields}</dl>`;

/** Renders the needed key and the rate limit. */
function renderFacts({ access, right, method, limit, stored, path }: Endpoint): Markup {
  const scope = right ?? (typeof access === 'object' ? access.scope : access === 'any_key' ? 'any' : undefined);
  const ofKey = access && (method === 'GET' ? 'reads' : 'actions');
  const rate = rateLimits[ofKey ?? limit ?? (stored ? 'content' : 'client')];
  const needed = `Needs a ${right ? 'token' : 'key'}${scope === 'any' ? '' : ' with '}`;
  const code = scope !== 'any' && html`<code>${scope}</code>`;
  // The page cannot see whether a key is of one of the other kinds.
  const other = typeof access === 'string' && html`<span>Needs ${keyAccess[access]}</span>`;
  return html`<p class="facts">
    ${scope ? html`<span class="need" data-scope="${scope}"><span>${needed}</span>${code}</span>` : other}
    ${!right && isLimited(path) && html`<a href="/docs/limits.html">Limit: ${rate.burst}, then ${toRate(rate)}</a>`}
  </p>`;
}

/** Lists the operations of a document in the order of its tags, and renders them. */
export function createReference(document: OpenApi, endpoints: Readonly<Record<string, Endpoint>>, origin: string) {
  const resolve = (schema: Schema): Schema => {
    const { $ref = '', ...own } = schema;
    return { ...(document.components.schemas[$ref.split('/').at(-1)!] as Schema | undefined), ...own };
  };

  /** Names the type of a value, as in `string or null`, or its values. */
  const toType = (schema: Schema): string => {
    const { type = 'any', format = '', enum: values, items, anyOf, additionalProperties } = resolve(schema);
    if (anyOf) return anyOf.map(toType).join(' or ');
    if (values) return values.join(' | ');
    if (items) return `array of ${toType(items)}`;
    if (additionalProperties) return 'object by name';
    const names = [type].flat().join(' or ');
    return /^(?:$|int|double)/.test(format) ? names : names.replace('string', format);
  };

  /** Renders the fields of an object, or of the objects in a list or map. */
  const renderFields = (schema: Schema, isBody = false): Markup[] => {
    const { items, additionalProperties, properties = {}, required = [] } = resolve(schema);
    const inner = items ?? (additionalProperties || undefined);
    if (inner) return renderFields(inner);
    return Object.entries(properties).map(([name, field]) =>
      renderField(name, field, isBody && required.includes(name)),
    );
  };

  const renderField = (name: string, schema: Schema, isRequired: boolean, place = ''): Markup => {
    const term = html`<code>${name}</code>
      <span>${toType(schema)}${place}</span> ${isRequired && html`<strong>required</strong>`}`;
    const text = html`${resolve(schema).description} ${renderFold(`Fields of ${name}`, renderFields(schema))}`;
    return renderTerm(term, text);
  };

  /** Renders a form with the request in each language, its fields, and a button that sends it. */
  const renderCall = (operation: Described): Markup => {
    const { method, path, parameters, requestBody, endpoint } = operation;
    const { access, right, confirmation } = endpoint;
    const kind = typeof access === 'object' ? access.kind : 'other';
    const standIns: Readonly<Record<string, string>> = { game: 'YOUR_GAME_SERVER', vps: 'YOUR_VPS' };
    const fields: FormField[] = parameters.map(({ name, in: place, required, example = '' }) => {
      const isOwn = place === 'path' && (kind !== 'other' || example === '');
      const value = isOwn ? (standIns[kind] ?? `YOUR_${name.toUpperCase()}`) : String(example);
      return { name, in: place, required, isOwn, value };
    });
    if (requestBody) {
      const example = requestBody.content['application/json'].example ?? {};
      const [line, lines] = [JSON.stringify(example), JSON.stringify(example, undefined, 2)];
      const value = line.length > 60 ? lines : line;
      fields.push({ name: 'body', in: 'body', required: requestBody.required, isOwn: false, value });
    }
    // The box confirms in the query; the body of an example confirms too.
    const inForm = fields.filter(
      ({ name, required }) => !confirmation || (name !== 'force' && (name !== 'body' || required)),
    );
    const sent = fields.filter(({ name, required }) => required || (confirmation && name === 'force'));
    const isKeyed = (access ?? right) !== undefined;
    const call = toCall({ method, path, isKeyed }, origin, sent);
    const renderInput = ({ name, in: place, required, isOwn, value }: FormField): Markup => {
      const isFilled = required && !isOwn;
      const given = html`name="${name}" data-in="${place}" spellcheck="false"
      ${isFilled ? html`required` : html`placeholder="${value}"`}`;
      const rows = value.split('\n').length;
      const area = html`<textarea ${given} rows="${rows}">${isFilled && value}</textarea>`;
      const own = html`${isFilled && html`value="${value}"`} ${isOwn && html`data-own="${kind}" list="${kind}-ids"`}`;
      const input = place === 'body' ? area : html`<input ${given} ${own} />`;
      return html`<label><span>${name}</span> ${input}</label>`;
    };
    const force = html`<code>force=true</code>`;
    // A reload must not restore edited fields below the example, nor a confirmation.
    const target = html`data-method="${method}" data-path="${path}" ${isKeyed && html`data-keyed`}`;
    return html`<form class="card call" autocomplete="off" ${target}>
      ${renderBar(Object.keys(languages))}
      ${Object.entries(languages).map(([title, write]) => html`<pre data-title="${title}">${renderCode(write(call))}</pre>`)}
      <div class="fields">
        ${inForm.filter(({ required }) => required).map(renderInput)}
        ${renderFold('Optional', inForm.filter(({ required }) => !required).map(renderInput), false)}
        ${
          confirmation &&
          html`<label class="confirm">
            <input type="checkbox" name="force" data-in="query" value="true" required />
            <span>${confirmation.action} it, without asking again: ${force}</span>
          </label>`
        }
        <p><button class="main">Send</button> <span role="status"></span></p>
      </div>
    </form>`;
  };

  /** Renders an operation: its facts, fields, errors and headers, the form, and an example of the answer. */
  const render = (operation: Described): Markup => {
    const { operationId, method, path, description, parameters, requestBody, responses, endpoint } = operation;
    const [status, reply] = Object.entries(responses).find(([code]) => code.startsWith('2'))!;
    const [type = '', content] = Object.entries(reply.content ?? {})[0] ?? [];
    const inputs = parameters.map(({ name, in: place, required, description: text, schema }) =>
      renderField(name, { ...schema, description: text }, required, `, in the ${place}`),
    );
    const body = requestBody ? renderFields(requestBody.content['application/json'].schema, true) : [];
    const errors = Object.entries(responses).flatMap(([code, { content: examples = {} }]) =>
      code < '400' ? [] : renderErrors(code, Object.values(examples)[0]?.examples ?? {}),
    );
    const headers = Object.entries(reply.headers).map(([name, { $ref }]) =>
      renderTerm(html`<code>${name}</code>`, document.components.headers[$ref.split('/').at(-1)!]!.description),
    );
    const example = content?.example;
    const answer = typeof example === 'string' ? example : JSON.stringify(example, undefined, 2);
    return html`<section class="operation" id="${operationId}">
      <div>
        <h2>${titleOf(operation)}</h2>
        <p class="path">${renderMethod(method)} <code>${trusted(escapeXml(path).replaceAll('/', '/<wbr>'))}</code></p>
        <p>${description}</p>
        ${renderFacts(endpoint)} ${renderList('Parameters', inputs)}
        ${renderList(requestBody?.required === false ? 'Body, optional' : 'Body', body)}
        <h3>Answer ${status}</h3>
        <p>${reply.description}</p>
        <dl>${content && renderFields(content.schema)}</dl>
        ${renderFold(`Errors (${errors.length})`, errors)}
        ${renderFold(`Headers of the answer (${headers.length})`, headers)}
      </div>
      <div class="side">${renderCall(operation)} ${answer && renderCard(`${status} ${type}`, answer)}</div>
    </section>`;
  };

  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Described => {
      return { ...operation, method: method.toUpperCase(), path, endpoint: endpoints[operation.operationId]! };
    }),
  );
  const tags = document.tags.map(({ name, description: lead }) => {
    return { name, lead, operations: all.filter(({ tags: [tag] }) => tag === name) };
  });
  return { tags, render };
}

/** Renders the codes of a status, each with its messages. */
function renderErrors(status: string, examples: Readonly<Record<string, { readonly value: unknown }>>): Markup[] {
  const byCode = Map.groupBy(Object.entries(examples), ([name]) => name.replace(/_\d+$/, ''));
  return Array.from(byCode, ([code, all]) => {
    const texts = all.map(([, { value }]) =>
      typeof value === 'string' ? value : (value as { message: string }).message,
    );
    return renderTerm(html`<code>${code}</code> ${status}`, texts.join('; '));
  });
}
