import { ApiError, api, get } from './api.js';
import { find, h, load } from './page.js';

/** @typedef {import('./types.ts').Status} Status */

const titles = {
  up: 'All services are up',
  maintenance: 'Maintenance is in progress',
  disrupted: 'Some services are disrupted',
};

const element = find('status');
void load(element, readStatus, render);
// The widget, which is on every page, polls the status and dispatches each change.
document.addEventListener('statuschange', (event) => {
  void load(element, async () => /** @type {CustomEvent<Status>} */ (event).detail, render);
});

find('embed').textContent = `<script src="${api}/v1/service-status.js" async></script>`;

/** @returns {Promise<Status | undefined>} undefined if the state is unknown */
async function readStatus() {
  try {
    return await get('/v1/status');
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return undefined;
    throw error;
  }
}

/** @param {Status | undefined} state */
function render(state) {
  if (!state) return [h('p', { class: 'state unknown' }, 'The status of our services is currently unknown.')];
  const { status, maintenance = [], disrupted = [] } = state;
  return [
    h('p', { class: `state ${status}` }, titles[status]),
    ...renderNames('Disrupted', disrupted),
    ...renderNames('Under maintenance', maintenance),
  ];
}

/**
 * @param {string} title
 * @param {readonly string[]} names
 */
function renderNames(title, names) {
  return names.length === 0 ? [] : [h('h2', {}, title), h('ul', {}, ...names.map((name) => h('li', {}, name)))];
}
