import { setTimeout as delay } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { createPaint, escapeLines, wrapFor } from '#common/terminal.ts';
import { loadEnvFile, readEnv } from './env.ts';
import { createLog, createPrettyFormat, openOutput } from './log.ts';
import { OperatorError } from './problem.ts';
import { startServer } from './start.ts';
import type { ApiKeyRecord } from './store/types.ts';

const droppedMessage = 'log lines were dropped: the reader of the log is too slow';

/** Enough actions to paste all examples of a page of /docs at once. */
const demoPresets = { POWER_RATELIMIT_BURST: '20' };

/** A preview has drafts, which other websites in an editor's browser must not read. */
const devPresets = { ALLOW_LOCAL_ORIGINS: 'true' };

/** Ignore repeated signals for this long: a terminal signals the whole process group, and npm signals again. */
const repeatMs = 1000;

const stderr = openOutput(2);
const outputs = [stderr];

const end = async (status: number): Promise<void> => {
  await Promise.all(outputs.map((output) => output.flush()));
  process.exit(status);
};
/** Reports an error and exits; by default, Node.js would wait for a reader of standard error. */
const fail = async (error: unknown): Promise<void> => {
  const { message, stack = message } = error as Error;
  stderr.write(`${escapeLines(error instanceof OperatorError ? message : stack)}\n`);
  await end(1);
};
process.on('uncaughtException', (error) => void fail(error));

try {
  loadEnvFile();
  // In development: the origin at which `npm run dev` renders /preview.
  const preview = process.argv.find((text) => text.startsWith('--preview='))?.slice('--preview='.length);
  const isDemo = process.argv.includes('--demo');
  const env = readEnv(process.env, { ...(isDemo && demoPresets), ...(preview !== undefined && devPresets) });
  const isPretty = (env.LOG_FORMAT ?? (isatty(1) ? 'pretty' : 'json')) === 'pretty';
  const stdout = openOutput(1, (lines) => log.error({ lines }, droppedMessage));
  outputs.push(stdout);
  const format = isPretty ? createPrettyFormat() : undefined;
  const log = createLog({ level: env.LOG_LEVEL, destination: stdout, format });
  // No demo with configured providers or in production.
  const demo = isDemo && env.PROVIDERS_FILE === undefined && process.env.NODE_ENV !== 'production';
  const starting = startServer(env, log, { environment: process.env, demo, preview, droppedLines: stdout.dropped });
  let isDraining = false;
  const skip = new AbortController();
  let lastSignalAt = Number.NEGATIVE_INFINITY;
  const stop = async (signal: string): Promise<void> => {
    if (performance.now() - lastSignalAt < repeatMs) return;
    lastSignalAt = performance.now();
    if (isDraining && skip.signal.aborted) return end(1);
    if (isDraining) return skip.abort();
    isDraining = true;
    const server = await starting;
    server.drain();
    log.info({ signal }, 'draining');
    const delayMs = env.SHUTDOWN_DELAY_SECONDS * 1000;
    if (delayMs > 0) await delay(delayMs, undefined, skip).catch(() => undefined);
    // From now on, another signal ends the process.
    skip.abort();
    await server.stop();
    log.info('stopped');
    await end(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop(signal));
  const { demoKey, url } = await starting;
  if (preview !== undefined) log.info({ url: `${url}/preview` }, 'preview');
  const base = url.replace('//127.0.0.1:', '//localhost:');
  if (demoKey && isatty(1)) stdout.write(describeDemo(demoKey, base));
  if (demoKey?.text) stdout.write(welcome(demoKey.text, base));
} catch (error) {
  await fail(error);
}

/** Lists the addresses and commands of the demo in a terminal, and its key if the text was shown before. */
function describeDemo({ id, createdAt, text }: ApiKeyRecord & { text: string | undefined }, base: string): string {
  const paint = createPaint(1);
  const date = new Date(createdAt).toISOString().slice(0, 10);
  const rows = [
    ['Docs', paint('cyan', `${base}/docs`), 'guide, reference, live console'],
    ['API', paint('cyan', `${base}/v1/plans`), 'one of the endpoints without a key'],
    ['Site', paint('bold', 'npx node examples/site/serve.ts'), 'an example on http://localhost:8080'],
    ['Preview', paint('bold', 'npm run dev'), 'articles as you write them, instead of this'],
    ['Key', paint('bold', `npm run keys -- rotate ${id}`), 'gives it a new text'],
    ['', `${id} was made on ${date}`, 'its text was shown once'],
  ];
  const shown = rows.slice(0, text === undefined ? 6 : 4);
  return `\n${shown.map(([name, value, note]) => `  ${name!.padEnd(9)}${value}  ${paint('dim', note!)}\n`).join('')}`;
}

/** Explains a new demo key. It goes into a file: other users can read arguments. */
function welcome(key: string, base: string): string {
  return `
${wrapFor(1, 'This is the demo key for game:demo and vps:demo. It is shown only once; keep it in a file:')}

  echo 'Authorization: Bearer ${key}' > .key

${wrapFor(1, `Try the key on ${base}/docs, in the page or in a terminal.`)}

`;
}
