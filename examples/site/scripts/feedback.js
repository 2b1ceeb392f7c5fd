import { ApiError, request } from './api.js';
import { explain, h } from './page.js';

/**
 * Asks whether a knowledge base article was helpful, and sends the vote.
 *
 * @param {{ title: string; path: string }} article
 */
export function renderFeedback({ title, path }) {
  const answer = h('p', { role: 'status', tabindex: -1 });
  const buttons = h('p', {}, ...[true, false].map(createButton));

  /** @param {boolean} helpful */
  function createButton(helpful) {
    const button = h('button', { type: 'button' }, helpful ? 'Yes' : 'No');
    button.addEventListener('click', () => void send(helpful));
    return button;
  }

  /** @param {boolean} helpful */
  async function send(helpful) {
    const body = JSON.stringify({ helpful, title, slug: path });
    buttons.inert = true;
    try {
      await request('/v1/kb/feedback', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
      answer.textContent = 'Thank you. Our editors read every vote.';
      // The button is gone, so move the focus here.
      answer.focus();
      buttons.remove();
    } catch (error) {
      answer.textContent =
        error instanceof ApiError && error.status === 502
          ? 'Thank you. Your vote was counted, but our editors could not be notified.'
          : `Your vote was not sent. ${explain(error)}`;
      buttons.inert = false;
    }
  }

  return h(
    'section',
    { class: 'feedback', 'aria-labelledby': 'feedback' },
    h('h2', { id: 'feedback' }, 'Was this helpful?'),
    buttons,
    answer,
  );
}
