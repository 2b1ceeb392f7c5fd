import { connect as connectPlain, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Env } from '../../env.ts';
import { createVisit } from '../visit/client.ts';
import { hostOf } from '../visit/reach.ts';
import type { Outcome } from '../finding.ts';
import { fault, ok, skipped } from '../finding.ts';

const connectMs = 10_000;

/** The path of Discord's webhooks; `/slack` at its end takes messages of Slack. */
const discordPath = /^\/api\/(?:v\d+\/)?webhooks\/\d+\/[^/]+/;

/** Checks the webhook of the feedback without posting to it. */
export async function checkWebhook(env: Env): Promise<Outcome> {
  const { CHAT_FEEDBACK_WEBHOOK_URL: text, CHAT_FEEDBACK_WEBHOOK_KIND: kind } = env;
  if (text === undefined) return skipped('CHAT_FEEDBACK_WEBHOOK_URL is not set: votes are only counted');
  const url = new URL(text);
  const isDiscord = discordPath.test(url.pathname) && !url.pathname.endsWith('/slack');
  if (isDiscord !== (kind === 'discord')) {
    const advice = 'set CHAT_FEEDBACK_WEBHOOK_KIND to the chat of the URL, or copy the URL once more';
    return fault(`the URL is not one of a ${kind} webhook`, advice);
  }
  try {
    return kind === 'discord' ? await readWebhook(url) : await reach(url);
  } catch (error) {
    // The message of an error may hold the URL, which is a secret.
    const code = (error as NodeJS.ErrnoException).code ?? 'no answer';
    return fault(
      `the chat cannot be reached (${code})`,
      'see that this machine resolves its name and may connect to it',
    );
  }
}

/** Discord answers a GET of a webhook with what it is, and posts nothing. Other chats have no such request. */
async function readWebhook(url: URL): Promise<Outcome> {
  const { status } = await createVisit(new URL(url.origin))(url.pathname);
  if (status === 200) return ok('Discord has it');
  const advice = 'create a webhook in the settings of the channel, and set its URL as CHAT_FEEDBACK_WEBHOOK_URL';
  if (status === 401 || status === 404) return fault(`Discord does not have it: status ${status}`, advice);
  return skipped(`Discord answers ${status}`);
}

function reach(url: URL): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const host = hostOf(url);
    const isSecure = url.protocol === 'https:';
    const options = { host, port: Number(url.port || (isSecure ? 443 : 80)) };
    const socket = isSecure
      ? connectTls({ ...options, ...(isIP(host) === 0 && { servername: host }) })
      : connectPlain(options);
    socket.setTimeout(connectMs, () => socket.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    socket.on('error', reject);
    socket.on(isSecure ? 'secureConnect' : 'connect', () => {
      socket.destroy();
      resolve(ok('its host can be reached; it is only tried by a vote'));
    });
  });
}
