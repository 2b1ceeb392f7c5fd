import { all, create, find, tryStorage } from './page.ts';

type Rate = Readonly<Record<'requests_per_second' | 'burst', number>>;

/** The answer to a key, or to an operator token. */
interface Rights {
  readonly label: string;
  readonly scopes?: readonly string[];
  readonly rights?: readonly string[];
  readonly servers?: readonly string[];
  readonly limits?: Readonly<Record<'power' | 'read', Rate>>;
}

const [noun, prefix, address] =
  document.body.dataset['key'] === 'ho' ? ['token', 'ho', '/v1/operator'] : ['key', 'hk', '/v1/key'];
let used: string | undefined;

/** The entry of the storage of a tab with the key to keep. */
const kept = 'api-key';

/** Returns the used key. */
export const getKey = (): string | undefined => used;

const [dialog, button] = [find('#key-dialog') as HTMLDialogElement, find('#key')];
const [form, panel, alert] = [
  find('form', dialog) as HTMLFormElement,
  find('div', dialog),
  find('[role=alert]', dialog),
];
const [field, keep] = all('input', form) as [HTMLInputElement, HTMLInputElement];

/** Opens the dialog, which asks for a key, or shows the rights of the used one. */
export function openKeyDialog(): void {
  [form.hidden, panel.hidden] = [used !== undefined, used === undefined];
  alert.textContent = '';
  dialog.showModal();
}

/** The key is not valid. */
class Refusal extends Error {}

/** Asks the service for the rights of a key, and uses it; throws the message of a refusal. */
async function tryKey(key: string): Promise<void> {
  if (key.length !== 65) throw new Refusal(`Malformed ${noun}: it begins with ${prefix}_ and has 65 characters`);
  const response = await window.fetch(address, { headers: { Authorization: `Bearer ${key}` } });
  const answer = (await response.json()) as Rights & { readonly message: string };
  if (!response.ok) throw new (response.status === 401 ? Refusal : Error)(answer.message);
  use(key, answer);
}

const examples = all('.markdown-body :is(pre, td) *')
  .flatMap(({ childNodes }) => [...childNodes])
  .filter((node) => node instanceof Text)
  .map((node) => ({ node, text: node.data.replaceAll('http://localhost:3000', location.origin) }));

const toRate = ({ burst, requests_per_second: rate }: Rate): string => `${burst}, then ${rate} a second`;

/** Fills IDs, scopes and limits of a key into the page, or takes them out again. */
function use(key?: string, answer: Rights = { label: '' }): void {
  used = key;
  const { label, servers = [], rights = [], scopes = rights, limits } = answer;
  const count = servers.length === 1 ? '1 server' : `${servers.length} servers`;
  button.textContent =
    key === undefined ? `Use your ${noun}` : `● ${label} · ${noun === 'key' ? count : scopes.join(', ')}`;
  button.classList.toggle('has', key !== undefined);
  find('pre', panel).textContent = JSON.stringify(answer, undefined, 2);
  const [game = [], vps = []] = ['game:', 'vps:'].map((kind) =>
    servers.flatMap((server) => (server.startsWith(kind) ? [server.slice(kind.length)] : [])),
  );
  for (const { node, text } of examples) {
    node.data = text.replaceAll('YOUR_GAME_SERVER', game[0] ?? '$&').replaceAll('YOUR_VPS', vps[0] ?? '$&');
  }
  for (const input of all('[data-own]') as HTMLInputElement[]) {
    const ids = { game, vps }[input.dataset['own']!] ?? [];
    input.value = ids[0] ?? '';
    input.required = key !== undefined;
    input.list?.replaceChildren(...ids.map((id) => create('option', { value: id })));
  }
  for (const need of all('.need')) {
    const scope = need.dataset['scope']!;
    const has = scope === 'any' || scopes.includes(scope) || scopes.includes(`${scope}_write`);
    const mark =
      scope === 'any' ? `✓ Your ${noun} suffices` : `${has ? '✓' : '✗'} Your ${noun} ${has ? 'has ' : 'lacks '}`;
    const text = (need.dataset['needs'] ??= need.firstElementChild!.textContent);
    need.firstElementChild!.textContent = key === undefined ? text : mark;
    need.className = `need ${key === undefined ? '' : has ? 'has' : 'lacks'}`;
  }
  const own = limits && `Your key: actions ${toRate(limits.power)}; other requests ${toRate(limits.read)}.`;
  document.querySelector('#own-limits')?.replaceChildren(own ?? '');
  const detail = key === undefined ? null : { key, servers, scopes };
  document.dispatchEvent(new CustomEvent('api-key', { detail }));
}

async function submit(): Promise<void> {
  // A key is often pasted with surrounding text, as printed by `npm start`.
  const [key = field.value.trim()] = new RegExp(`${prefix}_\\w+`).exec(field.value) ?? [];
  try {
    await tryKey(key);
    tryStorage(() => (keep.checked ? sessionStorage.setItem(kept, key) : sessionStorage.removeItem(kept)));
    form.reset();
    dialog.close();
    button.focus();
  } catch (error) {
    alert.textContent = `${(error as Error).message}.`;
    field.focus();
  }
}

function forget(): void {
  tryStorage(() => sessionStorage.removeItem(kept));
  use();
}

/** Starts the dialog, and uses a key that was kept for this tab. */
export function openKey(): void {
  button.addEventListener('click', openKeyDialog);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit();
  });
  dialog.addEventListener('click', ({ target }) => {
    const { value } = target as HTMLButtonElement;
    if (value === 'forget') forget();
    if (value === 'forget' || value === 'close') dialog.close();
  });
  use();
  const key = tryStorage(() => sessionStorage.getItem(kept));
  // The key stays while the service is unreachable or busy.
  if (key) tryKey(key).catch((error: Error) => error instanceof Refusal && forget());
}
