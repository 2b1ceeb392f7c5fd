import { Idiomorph } from 'idiomorph';

let hidden = '';
let running: AbortController | undefined;

/** Updates the page without a reload. */
async function refresh(): Promise<void> {
  running?.abort();
  const { signal } = (running = new AbortController());
  const response = await window.fetch(location.href, { signal });
  const next = new DOMParser().parseFromString(await response.text(), 'text/html');
  document.title = next.title;
  document.body.dataset['build'] = next.body.dataset['build'];
  // Morphing keeps the scroll position, the focus, typed text and loaded images.
  for (const selector of ['main', '#problems']) {
    const [shown, changed] = [document, next].map((page) => page.querySelector(selector)!);
    void Idiomorph.morph(shown!, changed!, { ignoreActiveValue: true });
  }
  hideAgain();
}

const overlay = (): HTMLElement | null => document.querySelector<HTMLElement>('.overlay');

/** Keeps a dismissed overlay hidden until the problems change. */
function hideAgain(): void {
  const shown = overlay();
  if (shown) shown.hidden = shown.textContent === hidden;
}

function hide(): void {
  hidden = overlay()?.textContent ?? '';
  hideAgain();
}

function ignore(): void {
  // A newer refresh replaced this refresh, or the server restarts, and its next event starts another refresh.
}

const events = new EventSource('/preview/events');
const connection = document.querySelector('#connection')!;
events.addEventListener('build', ({ data }) => {
  if (data !== document.body.dataset['build']) void refresh().catch(ignore);
});
events.addEventListener('open', () => (connection.textContent = ''));
events.addEventListener('error', () => (connection.textContent = 'Not connected; check that npm run dev is running'));

document.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') hide();
});

document.addEventListener('click', ({ target }) => {
  if ((target as Element).closest('.hide')) hide();
});

document.addEventListener('input', ({ target }) => {
  const form = (target as Element).closest<HTMLFormElement>('form.filters');
  if (!form) return;
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== '') as [string, string][]);
  history.replaceState(null, '', query.size > 0 ? `?${query}` : location.pathname);
  void refresh().catch(ignore);
});

// The page filters while typing, so it needs no submit.
document.addEventListener('submit', (event) => event.preventDefault());
