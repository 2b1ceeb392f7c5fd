/** The parts of Swagger UI that are used; only the page with the reference loads it. */
declare const SwaggerUIBundle: undefined | ((options: object) => void);

interface Description {
  readonly paths: Record<string, Record<string, { readonly parameters: { in: string; example?: unknown }[] }>>;
}

// The examples of the page become lines that can be copied, whichever address it has.
for (const code of document.querySelectorAll('pre.code code')) {
  code.textContent = code.textContent.replaceAll('http://localhost:3000', location.origin);
}

// Swagger UI has dark colors, but does not follow the browser.
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = (): void => void document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

/** Reads the machine description for trying. */
async function readDescription(): Promise<Description> {
  const response = await window.fetch('/v1/openapi.json');
  if (!response.ok) throw new Error(`/v1/openapi.json answered ${response.status}`);
  const description = (await response.json()) as Description;
  const operations = Object.values(description.paths).flatMap((methods) => Object.values(methods));
  // A filled in Idempotency-Key would be the same for all requests, and a filled in Range cuts the answer.
  for (const { parameters } of operations) for (const one of parameters) if (one.in === 'header') delete one.example;
  return description;
}

/** Accepts a key that was pasted with the words around it, as `npm start` prints them. */
function sendBareKey<Request extends { readonly headers: Record<string, string> }>(request: Request): Request {
  const [key] = /hk_\w+/.exec(request.headers['Authorization'] ?? '') ?? [];
  if (key !== undefined) request.headers['Authorization'] = `Bearer ${key}`;
  return request;
}

/** Adds what the viewer leaves out: names of fields for screen readers, and that browsers do not keep a typed key. */
function complete(viewer: Element): void {
  for (const input of viewer.querySelectorAll('input')) input.autocomplete = 'off';
  for (const field of viewer.querySelectorAll(':is(select, textarea):not([aria-label])')) {
    const parameter = field.closest<HTMLElement>('[data-param-name]')?.dataset['paramName'];
    field.setAttribute('aria-label', parameter ?? (field.matches('textarea') ? 'Request body' : 'Type or example'));
  }
  for (const example of viewer.querySelectorAll('pre:not([tabindex])')) example.setAttribute('tabindex', '0');
}

/** Shows the reference. */
async function showReference(show: (options: object) => void): Promise<void> {
  show({
    spec: await readDescription(),
    dom_id: '#viewer',
    // The page has its own head.
    plugins: [{ wrapComponents: { InfoContainer: () => () => null, ServersContainer: () => () => null } }],
    requestInterceptor: sendBareKey,
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
