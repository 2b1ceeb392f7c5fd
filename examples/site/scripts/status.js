import { ApiError, api, get } from './api.js';
import { find, h, load } from './page.js';

/** @typedef {import('./types.ts').Status} Status */
/** @typedef {import('./types.ts').Maintenance} Maintenance */

const titles = {
  up: 'All services are up',
  maintenance: 'Maintenance is in progress',
  disrupted: 'Some services are disrupted',
};

const element = find('status');
/** The names of the components, which the page lists. */
const components = (element.dataset.only ?? '').split(',').flatMap((name) => name.trim() || []);

void load(element, readStatus, render);
// The widget, which is on every page, polls the status and dispatches each change.
document.addEventListener('statuschange', (event) => {
  void load(element, async () => /** @type {CustomEvent<Status>} */ (event).detail, render);
});
void load(find('maintenance'), () => get('/v1/status/maintenance'), renderMaintenance);

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
  // The answer has only the names of affected components; one that the page does not list has a row too.
  const names = [...new Set([...components, ...disrupted, ...maintenance])];
  const rows = names.map((name) => {
    if (disrupted.includes(name)) return renderComponent(name, 'disrupted', 'Disrupted');
    return maintenance.includes(name)
      ? renderComponent(name, 'maintenance', 'Under maintenance')
      : renderComponent(name, 'up', 'Up');
  });
  return [h('p', { class: `state ${status}` }, titles[status]), h('ul', { class: 'components' }, ...rows)];
}

/**
 * @param {string} name
 * @param {string} status
 * @param {string} text
 */
function renderComponent(name, status, text) {
  return h('li', {}, h('span', {}, name), h('span', { class: status }, text));
}

/** @param {Maintenance[]} windows */
function renderMaintenance(windows) {
  const now = Date.now();
  // The list may be older than the end of a window.
  const items = windows
    .filter(({ end }) => Date.parse(end) > now)
    .map(({ title, affected, start, end }) =>
      h(
        'li',
        {},
        h('strong', {}, title),
        h('p', {}, ...(Date.parse(start) <= now ? ['In progress, until ', renderTime(end)] : renderTimes(start, end))),
        h('p', { class: 'facts' }, `Affects ${affected.join(', ')}`),
      ),
    );
  return items.length === 0 ? [] : [h('h2', {}, 'Planned maintenance'), h('ul', { class: 'windows' }, ...items)];
}

const clock = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

/** @param {string} instant */
const renderTime = (instant) => h('time', { datetime: instant }, clock.format(new Date(instant)));

/**
 * @param {string} start
 * @param {string} end
 */
const renderTimes = (start, end) => [renderTime(start), ' to ', renderTime(end), ', your time'];
