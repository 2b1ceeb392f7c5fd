import { languages, paint, toCall } from '../code.ts';
import type { Call } from '../code.ts';
import { getKey, openKeyDialog } from './key.ts';
import { all, create, find } from './page.ts';

/** Reads the request of a form; an example confirms although the box is empty. */
function readCall(form: HTMLFormElement, origin: string, isExample: boolean): Call {
  const { method = '', path = '', keyed } = form.dataset;
  const fields = (all('[data-in]', form) as HTMLInputElement[]).map((input) => {
    const { name, type, value, placeholder, checked, dataset } = input;
    const isLeftOut = type === 'checkbox' && !checked && !isExample;
    const standIn = dataset['own'] === undefined ? '' : placeholder;
    return { name, in: dataset['in']!, value: isLeftOut ? '' : value || standIn };
  });
  return toCall({ method, path, isKeyed: keyed !== undefined }, origin, fields);
}

const toNodes = (code: string): Node[] =>
  paint(code).map(({ text, kind }) => (kind === '' ? new Text(text) : create('span', { className: kind }, text)));

function showExamples(form: HTMLFormElement): void {
  const call = readCall(form, document.body.dataset['origin'] ?? location.origin, true);
  for (const [title, write] of Object.entries(languages)) {
    find(`pre[data-title=${title}] code`, form).replaceChildren(...toNodes(write(call)));
  }
}

const headers =
  'x-request-id ratelimit retry-after etag idempotent-replayed action-outcome www-authenticate allow'.split(' ');
const maxLength = 50_000;
const sending = 'Sending …';

/** Formats an answer: JSON with the line breaks of a log; nothing of a picture. */
function format(text: string, type: string): string {
  if (!/^text|json|xml|script/.test(type)) return '';
  const whole = type.includes('json')
    ? JSON.stringify(JSON.parse(text), undefined, 2).replaceAll(/\\(.)/g, (escape, sign) =>
        sign === 'n' ? '\n' : escape,
      )
    : text;
  return whole.length > maxLength ? `${whole.slice(0, maxLength)}\n…` : whole;
}

async function send(form: HTMLFormElement): Promise<void> {
  const { method, url, headers: given, body = null, isKeyed } = readCall(form, location.origin, false);
  const key = getKey();
  if (isKeyed && key === undefined) return openKeyDialog();
  const status = find('[role=status]', form);
  // The second click of a double click.
  if (status.textContent === sending) return;
  for (const earlier of all('.answer', form)) earlier.remove();
  status.textContent = sending;
  const start = performance.now();
  try {
    const own = isKeyed && { Authorization: `Bearer ${key}` };
    const signal = AbortSignal.timeout(60_000);
    const response = await window.fetch(url, { method, body, signal, headers: { ...given, ...own } });
    const text = await response.text();
    const ms = Math.round(performance.now() - start);
    const head = `${response.status} ${response.statusText}, ${ms} ms, ${text.length.toLocaleString('en')} characters`;
    [status.textContent, status.className] = [head, response.ok ? 'has' : 'lacks'];
    const lines = headers.map((name) => [name, response.headers.get(name)]).filter(([, value]) => value !== null);
    const answer = format(text, response.headers.get('content-type') ?? '');
    form.append(create('pre', { className: 'answer headers' }, lines.map((line) => line.join(': ')).join('\n')));
    if (answer !== '')
      form.append(create('pre', { className: 'answer', tabIndex: 0 }, create('code', {}, ...toNodes(answer))));
  } catch {
    [status.textContent, status.className] = ['The service did not answer', 'lacks'];
  }
}

/** Lets the forms show and send their requests. */
export function prepareForms(): void {
  for (const form of all('.call') as HTMLFormElement[]) {
    form.addEventListener('input', () => showExamples(form));
    document.addEventListener('api-key', () => showExamples(form));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(form);
    });
  }
}
