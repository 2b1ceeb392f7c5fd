import { showConsole } from '../../../examples/clients/browser/console.js';
import { create, find } from './page.ts';

const section = find('#console');
const invitation = create('button', { type: 'button', className: 'main' }, 'Use your key');
invitation.addEventListener('click', () => find('#key').click());
section.replaceChildren(invitation);
let shown: ReturnType<typeof showConsole> | undefined;

/** Shows the console of the used key; its stream is opened at the origin of the page, which the policy allows. */
document.addEventListener('api-key', (event) => {
  const { detail } = event as CustomEvent<{ readonly key: string; readonly servers: readonly string[] } | null>;
  shown?.close();
  shown = detail ? showConsole(section, { ...detail, origin: location.origin }) : undefined;
  if (!detail) section.replaceChildren(invitation);
});
