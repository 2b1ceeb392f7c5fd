import MiniSearch from 'minisearch';
import { create, find } from './page.ts';

/** A JSON text: esbuild would copy an object to each place that names it. */
declare const ENTRIES: string;

const index = new MiniSearch({
  fields: ['title', 'place', 'text'],
  storeFields: ['title', 'place'],
  searchOptions: { prefix: true, fuzzy: 0.2, boost: { title: 4 } },
});
index.addAll(JSON.parse(ENTRIES) as { readonly id: string }[]);

const dialog = find('#search-dialog') as HTMLDialogElement;
const [input, list] = [find('input', dialog) as HTMLInputElement, find('#found')];

/** Shows the results of the text typed so far. */
function update(): void {
  const links = index
    .search(input.value)
    .slice(0, 8)
    .map(({ id, title, place }) => {
      return create('a', { href: id as string }, title as string, create('small', {}, place as string));
    });
  list.replaceChildren(...links);
  find('[role=status]', dialog).textContent = input.value === '' ? '' : `${links.length} found`;
}

input.addEventListener('input', update);
dialog.addEventListener('keydown', (event) => {
  const stops = [input, ...list.children] as HTMLElement[];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  if (event.key === 'ArrowDown') stops[at + 1]?.focus();
  else if (event.key === 'ArrowUp') stops[at - 1]?.focus();
  else if (event.key === 'Enter' && at === 0) stops[1]?.click();
  else return;
  event.preventDefault();
});
// A link within the page does not leave it.
list.addEventListener('click', () => dialog.close());
update();
