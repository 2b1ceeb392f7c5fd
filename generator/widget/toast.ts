import type { Status } from './status.ts';
import { chooseTexts } from './texts.ts';

/** The minified style.css, which the build puts here. */
declare const STYLE: string;
const css = STYLE;

/** A list of any length must leave the page readable. */
const maxNames = 10;
const maxNameLength = 80;

/**
 * Puts the part of the widget that people see into the page, empty at first; `dismiss` is called when someone has read
 * enough.
 */
export function createToast({ nonce, dataset: data }: HTMLScriptElement, dismiss: () => void) {
  const texts = chooseTexts(data);
  const look = `box ${[data.position, data.theme].join(' ')} `.replace('-', ' ');
  const host = document.createElement('service-status');
  const root = host.attachShadow({ mode: 'closed' });
  const box = append(root, 'div');
  const text = append(box, 'div');
  // It is in the page before there is text in it: only then is the text announced (WCAG 2.2, 4.1.3).
  const region = append(text, 'div');
  const button = append(box, 'button');
  let focused: HTMLElement | null = null;

  addStyle(root, nonce);
  box.lang = texts.lang;
  box.className = look;
  region.setAttribute('role', 'status');
  region.setAttribute('aria-atomic', 'true');
  region.setAttribute('aria-label', texts.label);
  if (data.href) append(text, 'a', texts.details).href = data.href;
  button.type = 'button';
  button.textContent = '×';
  button.setAttribute('aria-label', texts.dismiss);
  button.addEventListener('click', dismiss);
  box.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') dismiss();
  });
  box.addEventListener('focusin', (event) => {
    const from = event.relatedTarget as HTMLElement | null;
    if (!root.contains(from)) focused = from;
  });
  document.body.append(host);

  return {
    /** Shows what is wrong, or hides. */
    show(status: Status | undefined): void {
      // A site that replaces its body takes the widget along.
      if (!host.isConnected) document.body.append(host);
      const inside = root.activeElement;
      box.className = look + (status ? `on ${status.status}` : '');
      region.textContent = '';
      if (!status) {
        // Who was in the toast goes back to where they came from, and nobody else is moved.
        if (inside) focused?.focus({ preventScroll: true });
        return;
      }
      for (const kind of ['disrupted', 'maintenance'] as const) {
        const names = status[kind];
        if (names.length === 0 && status.status !== kind) continue;
        append(region, 'p', texts.kinds[kind]);
        const list = append(region, 'ul');
        for (const name of names.slice(0, maxNames)) append(list, 'li', cut(name));
        if (names.length > maxNames) append(list, 'li', `+${names.length - maxNames}`);
      }
    },
    /** Dispatches an event that the page can listen to. */
    dispatch: (event: Event): boolean => host.dispatchEvent(event),
  };
}

/** Names of components are data: they only ever become text, whose direction is its own. */
function append<Tag extends keyof HTMLElementTagNameMap>(
  parent: Node,
  tag: Tag,
  text?: string,
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  if (text !== undefined) append(element, 'bdi').textContent = text;
  return parent.appendChild(element);
}

function cut(name: string): string {
  const characters = Array.from(name);
  return characters.length > maxNameLength ? `${characters.slice(0, maxNameLength).join('')}…` : name;
}

/** Styles that a CSP without 'unsafe-inline' allows; a browser from before 2023 needs the nonce of the script. */
function addStyle(root: ShadowRoot, nonce: string): void {
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];
  } catch {
    const style = append(root, 'style');
    style.nonce = nonce;
    style.textContent = css;
  }
}
