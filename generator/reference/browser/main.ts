import { openKey } from './key.ts';
import { all, find, tryStorage } from './page.ts';
import { prepareForms } from './send.ts';

const { dataset } = document.body;

// A link into the former reference.
const [, tag, operationId = ''] = /^#\/([a-z]+(?:%20[a-z]+)*)\/?(\w*)$/i.exec(location.hash) ?? [];
if (tag !== undefined) location.replace(`/docs/api/${tag.toLowerCase().replaceAll('%20', '-')}.html#${operationId}`);

/** Shows the examples in a language. */
function chooseClient(name: string): void {
  dataset['client'] = name;
  for (const button of all('.bar [aria-pressed]')) {
    button.setAttribute('aria-pressed', String(button.textContent === name));
  }
}
chooseClient(tryStorage(() => localStorage.getItem('client')) ?? 'curl');

// Browsers offer a clipboard only on secure origins.
for (const button of all('.copy')) button.hidden = !window.isSecureContext;

/** Copies the example in the chosen language. */
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
    tryStorage(() => localStorage.setItem('client', button.textContent));
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
