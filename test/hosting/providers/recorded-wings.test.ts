import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { openProvider } from '../../helpers/provider.ts';
import { createPanelUpstream, panelKeys } from '../../helpers/upstream-panel.ts';
import { createUpstream, json, until } from '../../helpers/upstream.ts';
import { recordConsole } from './console-recorder.ts';

/** An event of a real node with its arguments, or the close of its socket. */
type Frame = readonly [event: string, ...args: (string | number)[]];

/** The events of a real node on one socket. */
interface Conversation {
  readonly name: string;
  readonly frames: readonly Frame[];
}

const conversations = readFileSync(join(import.meta.dirname, '../recorded/wings.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Conversation);

const ref = '01010101';
const lastLine = 'the end of the recording';

/** Starts a panel and a node that sends a recording: after each `auth`, up to the answer to the next. */
async function replay({ frames }: Conversation) {
  const claims = Buffer.from(JSON.stringify({ permissions: ['websocket.connect'] })).toString('base64url');
  const upstream = await createUpstream(() =>
    json(200, { data: { token: `x.${claims}.x`, socket: `${upstream.url.replace('http', 'ws')}/socket` } }),
  );
  const node = new WebSocketServer({ server: upstream.server });
  node.on('connection', (socket: WebSocket) => {
    let sent = 0;
    socket.on('message', (data: Buffer) => {
      if (!data.toString().startsWith('{"event":"auth"')) return;
      for (let isAnswer = true; sent < frames.length; isAnswer = false) {
        const [event, ...args] = frames[sent]!;
        if (event === 'auth success' && !isAnswer) return;
        sent += 1;
        if (event === 'close' && args[0] === 1006) return socket.terminate();
        if (event === 'close') return socket.close(Number(args[0]), String(args[1]));
        socket.send(`${JSON.stringify({ event, ...(args.length > 0 && { args }) })}\n`);
      }
      socket.send(`${JSON.stringify({ event: 'console output', args: [lastLine] })}\n`);
    });
  });
  const { game } = openProvider({
    type: 'pterodactyl',
    url: upstream.url,
    token: panelKeys.write,
    read_only_token: panelKeys.read,
  });
  // Resumed: without the real times, lines of a second start would look like the backlog.
  return recordConsole(game, ref, true);
}

const lost = 'the connection to the console was lost';
const renewed = 'the credential of the console had to be renewed';
/** How the conversations end that the node ends. */
const ends: Readonly<Record<string, string>> = {
  'create-install-delete': 'the server was deleted',
  'deny-list': renewed,
  'pelican-deauthorize': lost,
  'pelican-deauthorize-wrapped': lost,
  'pelican-deleted': 'the server was deleted',
  'pelican-suspended-connect': 'the server is suspended',
  'pelican-suspended-while-open': lost,
  'token-bad-signature': lost,
  'token-expires-then-renewed': renewed,
  'token-older-than-boot': renewed,
  'token-permissions-object': lost,
  'token-wrong-server': renewed,
  'wings-restart-sigterm': lost,
};
const isEnd = ([event]: Frame): boolean => ['deleted', 'close', 'jwt error', 'daemon error'].includes(event);

test.each(conversations)('$name: each line and status of a real node reaches the viewer', async (conversation) => {
  const { name, frames } = conversation;
  const record = await replay(conversation);
  await until('the recording has ended', () =>
    [record.lines.includes(lastLine), record.ends.length, record.gaps.length].some(Boolean),
  );
  expect([...record.gaps, ...record.ends].join()).toBe(ends[name] ?? '');
  const end = frames.findIndex(isEnd);
  const read = (...names: string[]) =>
    frames.slice(0, end === -1 ? frames.length : end).flatMap(([event, text]) => (names.includes(event) ? [text] : []));
  expect(record.states).toEqual(read('status'));
  const lines = read('console output', 'daemon message');
  expect(record.lines.filter((line) => line !== lastLine)).toEqual(lines);
});

describe('the stand-in of a node answers as the real node:', () => {
  type Panel = Awaited<ReturnType<typeof createPanelUpstream>>;
  test.each<[string, count: number, prepare: (panel: Panel) => unknown]>([
    ['offline-start-command-stop', 3, () => undefined],
    ['commands', 2, ({ wings }) => wings.become('running')],
    ['token-bad-signature', 1, () => 'x.y.z'],
    ['token-older-than-boot', 1, ({ wings }) => wings.denyOldTokens()],
  ])('%s', async (name, count, prepare) => {
    const panel = await createPanelUpstream();
    const token = panel.wings.issue(['websocket.connect'], 600);
    const other = prepare(panel);
    const socket = new WebSocket(panel.socketUrl(), { origin: panel.url });
    onTestFinished(() => socket.terminate());
    const answers: string[] = [];
    socket.on('message', (data: Buffer) => answers.push(data.toString()));
    socket.on('open', () =>
      socket.send(JSON.stringify({ event: 'auth', args: [typeof other === 'string' ? other : token] })),
    );
    await until('the answers came', () => answers.length === count);
    const { frames } = conversations.find((each) => each.name === name)!;
    const shapes = frames
      .slice(0, count)
      .map(([event, ...args]) => JSON.stringify({ event, ...(args[0] && { args }) }));
    expect(answers.map(toShape)).toEqual(shapes.map((text) => toShape(`${text}\n`)));
  });

  /** Replaces ids, and the statistics by their names. */
  const toShape = (text: string): string =>
    text.replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'id').replaceAll(/"([a-z_]+)\\":\d+/g, '$1');
});
