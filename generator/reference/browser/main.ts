/** The parts of Swagger UI that are used; only the page with the reference loads it. */
declare const SwaggerUIBundle: undefined | ((options: object) => Viewer);

interface Description {
  readonly paths: Record<string, Record<string, { readonly parameters: { in: string; example?: unknown }[] }>>;
}

const examples = [...document.querySelectorAll<HTMLElement>('.markdown-body pre')];

// The examples become lines that can be copied, whichever address the page has.
for (const part of examples.flatMap((example) => [...example.querySelectorAll('*')])) {
  for (const node of part.childNodes) {
    if (node instanceof Text) node.data = node.data.replaceAll('http://localhost:3000', location.origin);
  }
}

function createButton(text: string, onClick: (button: HTMLButtonElement) => void): HTMLButtonElement {
  const button = document.createElement('button');
  button.textContent = text;
  button.addEventListener('click', () => onClick(button));
  return button;
}

/** Shows the examples of one client alone. */
function chooseClient(name: string): void {
  for (const example of examples) example.hidden = (example.dataset['title'] ?? name) !== name;
  for (const button of document.querySelectorAll('.bar [aria-pressed]')) {
    button.setAttribute('aria-pressed', String(button.textContent === name));
  }
}

/** Adds a bar above each example, or above the same one for several clients: a choice of the client, and a copy button. */
function addBars(): void {
  for (const [at, example] of examples.entries()) {
    const { title } = example.dataset;
    if (title !== undefined && title !== 'curl') continue;
    const same = title === undefined ? [example] : examples.slice(at, at + 3);
    const bar = document.createElement('div');
    bar.className = 'bar';
    for (const { dataset } of title === undefined ? [] : same) {
      const choice = createButton(dataset['title']!, ({ textContent }) => chooseClient(textContent));
      choice.setAttribute('aria-pressed', 'false');
      bar.append(choice);
    }
    // Browsers have a clipboard for secure addresses alone.
    if ('clipboard' in navigator) {
      const copy = createButton('Copy', (button) => {
        const shown = same.find(({ hidden }) => !hidden)!;
        void navigator.clipboard.writeText(shown.innerText.trimEnd()).then(() => (button.textContent = 'Copied'));
        setTimeout(() => (button.textContent = 'Copy'), 2000);
      });
      copy.className = 'copy';
      bar.append(copy);
    }
    example.before(bar);
  }
  chooseClient('curl');
}
addBars();

// Swagger UI has dark colors, but does not follow the browser.
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = (): void => void document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

/** Reads the OpenAPI document for trying. */
async function readDescription(): Promise<Description> {
  const response = await window.fetch('/v1/openapi.json');
  if (!response.ok) throw new Error(`/v1/openapi.json answered ${response.status}`);
  const description = (await response.json()) as Description;
  const operations = Object.values(description.paths).flatMap((methods) => Object.values(methods));
  // A filled in Idempotency-Key would be the same for all requests, and a filled in Range cuts the answer.
  for (const { parameters } of operations) for (const one of parameters) if (one.in === 'header') delete one.example;
  return description;
}

/** Asks for the key that requests are sent with, in a dialog. This page alone keeps it; `show` gets what curl lines have for it. */
function createKeyDialog(show: (key: string) => void) {
  const dialog = document.querySelector('dialog')!;
  const [field, isShown] = dialog.querySelectorAll('input');
  let key: string | undefined;
  dialog.addEventListener('close', () => {
    if (dialog.returnValue !== 'use') return;
    // A key is often pasted with the words around it, as `npm start` prints them.
    [key = field!.value.trim()] = /hk_\w+/.exec(field!.value) ?? [];
    show(isShown!.checked ? key : 'YOUR_API_KEY');
  });
  return {
    open: (): void => {
      dialog.returnValue = '';
      dialog.showModal();
    },
    addTo: <Request extends { readonly headers: Record<string, string> }>(request: Request): Request => {
      if (key !== undefined && request.headers['Authorization']) request.headers['Authorization'] = `Bearer ${key}`;
      return request;
    },
  };
}

/** Adds what the viewer leaves out: names of fields for screen readers. */
function complete(viewer: Element): void {
  for (const field of viewer.querySelectorAll(':is(select, textarea):not([aria-label])')) {
    const parameter = field.closest<HTMLElement>('[data-param-name]')?.dataset['paramName'];
    field.setAttribute('aria-label', parameter ?? (field.matches('textarea') ? 'Request body' : 'Type or example'));
  }
  for (const example of viewer.querySelectorAll('pre:not([tabindex])')) example.setAttribute('tabindex', '0');
}

/** What this page needs of Swagger UI's system, which each of its components gets. */
interface System {
  readonly React: { createElement(component: unknown, props: object | null, ...children: unknown[]): unknown };
  readonly getComponent: (name: string, hasSystem: true) => unknown;
}
interface Viewer {
  preauthorizeApiKey(scheme: string, key: string): void;
}

/** The viewer without its head and landmarks: the page has its own. */
const Page = ({ React, getComponent }: System) =>
  React.createElement(
    'div',
    { className: 'swagger-ui' },
    ...['AuthorizeBtnContainer', 'operations'].map((name) => React.createElement(getComponent(name, true), null)),
  );

/** Shows the reference. */
async function showReference(createViewer: (options: object) => Viewer): Promise<void> {
  const dialog = createKeyDialog((key) => viewer.preauthorizeApiKey('apiKey', key));
  const wrapComponents = {
    // One dialog for the key.
    authorizeOperationBtn: () => () => null,
    authorizeBtn:
      (Button: unknown, { React }: System) =>
      (props: object) =>
        React.createElement(Button, { ...props, showPopup: false, onClick: dialog.open }),
    // A link in a button could not be reached.
    DeepLink:
      (_: unknown, { React }: System) =>
      (props: { readonly text: unknown }) =>
        React.createElement('span', null, props.text),
  };
  const viewer = createViewer({
    spec: await readDescription(),
    dom_id: '#viewer',
    plugins: [{ components: { Page }, wrapComponents }],
    layout: 'Page',
    requestInterceptor: dialog.addTo,
    // Curl lines show the request as it was before the key was added.
    showMutatedRequest: false,
    // Nothing is sent to others, and no key is kept.
    validatorUrl: null,
    persistAuthorization: false,
    queryConfigEnabled: false,
    // Its colors are too faint, and it takes seconds for a long answer.
    syntaxHighlight: { activated: false },
    tryItOutEnabled: true,
    deepLinking: true,
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
  });
}

if (typeof SwaggerUIBundle !== 'undefined') {
  const viewer = document.querySelector('#viewer')!;
  let isPlanned = false;
  const plan = (): void => {
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      complete(viewer);
    });
  };
  new MutationObserver(plan).observe(viewer, { childList: true, subtree: true });
  showReference(SwaggerUIBundle).catch((error: Error) => {
    viewer.textContent = `The reference cannot be shown: ${error.message}`;
  });
}
