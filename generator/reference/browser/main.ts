import { openKey } from './key.ts';
import { all, find } from './page.ts';
import { prepareForms } from './send.ts';

const { dataset } = document.body;

// A link into the former reference.
const [, tag, operationId = ''] = /^#\/([^/]+)\/?(\w*)$/.exec(location.hash) ?? [];
if (tag !== undefined) {
  const name = decodeURIComponent(tag).toLowerCase().replaceAll(' ', '-');
  if (/^[a-z-]+$/.test(name)) location.replace(`/docs/api/${name}.html#${operationId}`);
}

/** Shows the examples in a language. */
function chooseClient(name: string): void {
  dataset['client'] = name;
  for (const button of all('.bar [aria-pressed]')) {
    button.setAttribute('aria-pressed', String(button.textContent === name));
  }
}
chooseClient(localStorage.getItem('client') ?? 'curl');

/** Copies the example in the chosen language; browsers offer a clipboard only on secure origins. */
async function copy(button: HTMLElement): Promise<void> {
  const shown = all('pre', button.closest('.card')!).find((example) => example.checkVisibility())!;
  await navigator.clipboard.writeText(shown.innerText.trimEnd());
  button.textContent = 'Copied';
  setTimeout(() => (button.textContent = 'Copy'), 2000);
}

document.addEventListener('click', ({ target }) => {
  const button = (target as Element).closest<HTMLElement>('.bar button');
  if (button?.className === 'copy') void copy(button);
  else if (button) {
    localStorage.setItem('client', button.textContent);
    chooseClient(button.textContent);
  } else if ((target as Element).closest('#menu a')) find('#menu').hidePopover();
});

const search = find('#search-dialog') as HTMLDialogElement;

/** Opens the search at once, and loads its script meanwhile. */
function openSearch(): void {
  search.showModal();
  void import(dataset['search']!);
}
document.querySelector('#search')?.addEventListener('click', openSearch);
document.addEventListener('keydown', (event) => {
  const isShortcut = event.key === 'k' && (event.ctrlKey || event.metaKey);
  const isSlash = event.key === '/' && !(event.target as Element).matches('input, textarea');
  if (dataset['search'] === undefined || search.open || !(isShortcut || isSlash)) return;
  event.preventDefault();
  openSearch();
});

prepareForms();
openKey();
