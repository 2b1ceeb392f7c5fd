/** Swagger UI, which only the page with the reference loads. */
declare const SwaggerUIBundle: undefined | ((options: object) => Viewer);

const examples = [...document.querySelectorAll<HTMLElement>('.markdown-body pre')];

// Copied examples must work, so they get the address of the page.
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

function chooseClient(name: string): void {
  for (const example of examples) example.hidden = (example.dataset['title'] ?? name) !== name;
  for (const button of document.querySelectorAll('.bar [aria-pressed]')) {
    button.setAttribute('aria-pressed', String(button.textContent === name));
  }
}

/** Adds a bar above each example: a choice of clients if there are several, and a copy button. */
function addBars(): void {
  for (const [at, example] of examples.entries()) {
    const { title } = example.dataset;
    if (title !== undefined && title !== 'curl') continue;
    const same = title === undefined ? [example] : examples.slice(at, at + 4);
    const bar = document.createElement('div');
    bar.className = 'bar';
    for (const { dataset } of title === undefined ? [] : same) {
      const choice = createButton(dataset['title']!, ({ textContent }) => chooseClient(textContent));
      choice.setAttribute('aria-pressed', 'false');
      bar.append(choice);
    }
    // Browsers offer a clipboard only on secure origins.
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

// Swagger UI has dark colors, but ignores the preference of the browser.
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = (): void => void document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

/** Fetches the OpenAPI document. Requests go to the service of this page, whatever its public address. */
async function readDescription(): Promise<object> {
  const response = await window.fetch('/v1/openapi.json');
  if (!response.ok) throw new Error(`/v1/openapi.json responded with ${response.status}`);
  return { ...((await response.json()) as object), servers: [{ url: '/' }] };
}

/** Creates the dialog for the API key, which only this page keeps. Calls `show` with the key for curl examples. */
function createKeyDialog(show: (key: string) => void) {
  const dialog = document.querySelector('dialog')!;
  const [field, isShown] = dialog.querySelectorAll('input');
  let key: string | undefined;
  dialog.addEventListener('close', () => {
    if (dialog.returnValue !== 'use') return;
    // A key is often pasted with surrounding text, as printed by `npm start`.
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

/** Adds labels and focus for accessibility, which the viewer lacks. */
function complete(viewer: Element): void {
  for (const field of viewer.querySelectorAll(':is(select, textarea):not([aria-label])')) {
    const parameter = field.closest<HTMLElement>('[data-param-name]')?.dataset['paramName'];
    field.setAttribute('aria-label', parameter ?? (field.matches('textarea') ? 'Request body' : 'Type or example'));
  }
  for (const example of viewer.querySelectorAll('pre:not([tabindex])')) example.setAttribute('tabindex', '0');
}

/** The parts of Swagger UI's system, passed to each component, that this page uses. */
interface System {
  readonly React: { createElement(component: unknown, props: object | null, ...children: unknown[]): unknown };
  readonly getComponent: (name: string, hasSystem: true) => unknown;
}
interface Viewer {
  preauthorizeApiKey(scheme: string, key: string): void;
}

/** The viewer without head and landmarks, which the page has already. */
const Page = ({ React, getComponent }: System) =>
  React.createElement(
    'div',
    { className: 'swagger-ui' },
    ...['AuthorizeBtnContainer', 'operations'].map((name) => React.createElement(getComponent(name, true), null)),
  );

async function showReference(createViewer: (options: object) => Viewer): Promise<void> {
  const dialog = createKeyDialog((key) => viewer.preauthorizeApiKey('apiKey', key));
  const wrapComponents = {
    // The page has one dialog for the key.
    authorizeOperationBtn: () => () => null,
    authorizeBtn:
      (Button: unknown, { React }: System) =>
      (props: object) =>
        React.createElement(Button, { ...props, showPopup: false, onClick: dialog.open }),
    // A link in a button cannot be reached by keyboard.
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
    // Curl examples show the request without the added key.
    showMutatedRequest: false,
    // Send nothing to third parties, and store no key.
    validatorUrl: null,
    persistAuthorization: false,
    queryConfigEnabled: false,
    // The highlighter has too little contrast, and takes seconds for a long response.
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
    viewer.textContent = `The reference cannot be loaded: ${error.message}`;
  });
}
