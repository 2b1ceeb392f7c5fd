import { toAbsolute } from './status.ts';
import type { WidgetStatus } from './status.ts';

/** The texts by language: label, disrupted, maintenance, button and link. */
const languages: Readonly<Record<string, string>> = {
  en: 'Service status|Some services are disrupted|Maintenance in progress|Dismiss|Details',
  de: 'Dienststatus|Einige Dienste sind gestört|Wartungsarbeiten laufen|Schließen|Details',
  fr: 'État des services|Certains services sont perturbés|Maintenance en cours|Fermer|Détails',
  nl: 'Dienststatus|Sommige diensten zijn verstoord|Onderhoud wordt uitgevoerd|Sluiten|Details',
  es: 'Estado de los servicios|Algunos servicios tienen problemas|Mantenimiento en curso|Cerrar|Detalles',
  pl: 'Stan usług|Niektóre usługi mają problemy|Trwają prace konserwacyjne|Zamknij|Szczegóły',
};

/** Chooses the texts of the website, else of the first supported preferred language, else English. */
function chooseTexts(data: DOMStringMap) {
  const preferred = [data.lang, document.documentElement.lang, ...navigator.languages].filter(Boolean) as string[];
  const lang = preferred
    .map((tag) => tag.toLowerCase().split('-')[0]!)
    .find((tag) => typeof languages[tag] === 'string');
  const [label = '', disrupted = '', maintenance = '', dismiss = '', details = ''] =
    languages[lang ?? 'en']!.split('|');
  return {
    // Texts of the website may be in any language.
    lang: (data.textDisrupted && preferred[0]) || lang || 'en',
    label: data.textLabel ?? label,
    kinds: { disrupted: data.textDisrupted ?? disrupted, maintenance: data.textMaintenance ?? maintenance },
    dismiss: data.textDismiss ?? dismiss,
    details: data.textDetails ?? details,
  };
}

/** The minified style.css, inserted by the build. */
declare const STYLE: string;
const css = STYLE;

/** Limits that keep the page readable. */
const maxNames = 10;
const maxNameLength = 80;

/** Adds the toast, initially hidden, to the page. Calls `onDismiss` when a visitor dismisses the toast. */
export function createToast(script: HTMLScriptElement, onDismiss: () => void) {
  const { nonce, dataset: data } = script;
  const texts = chooseTexts(data);
  const host = document.createElement('service-status');
  const root = host.attachShadow({ mode: 'closed' });
  const box = append(root, 'div');
  const text = append(box, 'div');
  // Screen readers announce a text only if the region was in the page before the text (WCAG 2.2, 4.1.3).
  const region = append(text, 'div');
  const button = append(box, 'button');
  let focused: HTMLElement | null = null;
  let shown = '';

  const paint = (): void => {
    box.className = `box ${[data.position, data.theme, shown].join(' ').replace('-', ' ')}`;
  };
  // The body is often replaced by navigation, and may have a transform, which would move the toast.
  const attach = (): void => {
    if (!host.isConnected) document.documentElement.append(host);
  };

  addStyle(root, nonce);
  box.lang = texts.lang;
  paint();
  new MutationObserver(paint).observe(script, { attributeFilter: ['data-theme'] });
  region.setAttribute('role', 'status');
  region.setAttribute('aria-atomic', 'true');
  region.setAttribute('aria-label', texts.label);
  if (data.href) append(text, 'a', texts.details).href = toAbsolute(data.href);
  button.type = 'button';
  button.textContent = '×';
  button.setAttribute('aria-label', texts.dismiss);
  button.addEventListener('click', onDismiss);
  box.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') onDismiss();
  });
  box.addEventListener('focusin', (event) => {
    const from = event.relatedTarget as HTMLElement | null;
    if (!root.contains(from)) focused = from;
  });
  attach();

  return {
    /** Attaches the toast again if the page has removed it. */
    attach,
    /** Shows a status; hides the toast without a status. */
    show(status: WidgetStatus | undefined): void {
      const inside = root.activeElement;
      shown = status ? `on ${status.status}` : '';
      paint();
      region.textContent = '';
      if (!status) {
        // Returns the focus from the toast to the previous element.
        if (inside) focused?.focus({ preventScroll: true });
        return;
      }
      for (const kind of ['disrupted', 'maintenance'] as const) {
        const names = status[kind];
        if (names.length === 0 && status.status !== kind) continue;
        append(region, 'p', texts.kinds[kind]);
        const list = append(region, 'ul');
        for (const name of names.slice(0, maxNames)) append(list, 'li', truncate(name));
        if (names.length > maxNames) append(list, 'li', `+${names.length - maxNames}`);
      }
    },
    /** Dispatches an event to the page. */
    dispatch: (event: Event): boolean => host.dispatchEvent(event),
  };
}

/** Appends an element; the text is untrusted and becomes an isolated text node. */
function append<Tag extends keyof HTMLElementTagNameMap>(
  parent: Node,
  tag: Tag,
  text?: string,
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  if (text !== undefined) append(element, 'bdi').textContent = text;
  return parent.appendChild(element);
}

function truncate(name: string): string {
  const characters = Array.from(name);
  return characters.length > maxNameLength ? `${characters.slice(0, maxNameLength).join('')}…` : name;
}

/** Adds styles without 'unsafe-inline' in the CSP; browsers from before 2023 need the nonce of the script. */
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
