// Records the first minute for the README: docs/first-minute.svg, and docs/docs.webp with pages of /docs. Needs port 3000
// free, and the Debian packages bsdutils, chromium and curl. Run: node test/slow/browser/recording.ts
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import type { Page } from 'playwright-core';

const root = resolve(import.meta.dirname, '../../..');
const docs = join(root, 'docs');
const origin = 'http://localhost:3000';
const [columns, rows] = [92, 27];
const [charWidth, lineHeight, margin] = [8.43, 20, 16];
const [width, height] = [Math.ceil(columns * charWidth) + 2 * margin, rows * lineHeight + 2 * margin];

/** The codes of colours. */
const codes = new RegExp(String.raw`\u001B\[([\d;]*)m`);
const styles: Readonly<Record<string, string>> = { 1: 'b', 2: 'd', 31: 'r', 32: 'g', 33: 'y', 36: 'c' };

const folder = mkdtempSync(join(tmpdir(), 'recording-'));
for (const name of ['content', 'catalog']) cpSync(join(root, name), join(folder, name), { recursive: true });

/** The lines of the recording, with the seconds at which they appear. */
const shown: { readonly at: number; readonly text: string }[] = [];
let seconds = 0;
const show = (text: string, after: number): void => {
  seconds += after;
  const visible = text
    .split('\r')
    .at(-1)!
    .replace('\u001B[K', '')
    .replaceAll(/(hk_\w{12}_)\w+/g, '$1...');
  shown.push({ at: seconds, text: visible });
};

/** Starts a command in a pseudo-terminal; `typed` is the command that people type. */
function run(typed: string, command: string) {
  show('', 0.5);
  show(`\u001B[2m$\u001B[22m \u001B[1m${typed}\u001B[22m`, 0);
  seconds += 1;
  const args = ['-qec', `stty cols ${columns} rows ${rows}; exec ${command}`, '/dev/null'];
  const env = { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`, TERM: 'xterm' };
  const child = spawn('script', args, { cwd: folder, env });
  let output = '';
  let rest = '';
  let lastAt = performance.now();
  let isShown = true;
  child.stdout.on('data', (chunk: Buffer) => {
    const text = chunk.toString().replaceAll('\r\n', '\n');
    output += text;
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    const now = performance.now();
    // Nobody waits for a slow machine. Without a network, the list of registries is missing.
    const pause = Math.min(0.8, (now - lastAt) / 1000);
    for (const [at, line] of isShown ? lines.entries() : [])
      if (!line.includes('data.iana.org')) show(line, at === 0 ? pause : 0.04);
    lastAt = now;
  });
  const ended = once(child, 'close');
  const prints = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const [found] = pattern.exec(output) ?? [];
      if (found !== undefined) return found;
      // oxlint-disable-next-line no-await-in-loop -- Waits for more output.
      await Promise.race([delay(50), ended]);
    }
  };
  const end = async (): Promise<void> => {
    child.stdin.write('\u0003');
    await ended;
  };
  const hide = (): void => void (isShown = false);
  return { prints, ended, end, hide, type: (text: string) => child.stdin.write(`${text}\n`) };
}

const node = (file: string): string => `node ${join(root, file)}`;
const server = run('npm start', `sh -c '${node('generator/main.js')} build && exec ${node('server/main.js')} --demo'`);
const key = await server.prints(/hk_\w{12}_\w+/);
await server.prints(/in the page or in a terminal/);
await delay(500);
// Its log would be in another terminal.
server.hide();
writeFileSync(join(folder, '.key'), `Authorization: Bearer ${key}\n`);
const restart = `curl -s -H @.key -X POST ${origin}/v1/hosting/game/power/demo/start`;
await run(restart, restart).ended;
const viewer = run('npm run --silent console -- demo', `${node('examples/clients/console.ts')} demo`);
await viewer.prints(/Done!/);
seconds += 1;
viewer.type('say The server is up, and this is its console.');
await viewer.prints(/\[Server\] The server/);
await viewer.end();
seconds += 1.5;

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });

async function open(path: string, size: { width: number; height: number }, colorScheme: 'dark' | 'light') {
  const page = await browser.newPage({ colorScheme, viewport: size, deviceScaleFactor: 1.5 });
  await page.goto(origin + path, { waitUntil: 'networkidle' });
  await page.click('#key');
  await page.fill('#key-dialog input', key);
  await page.click('#key-dialog button.main');
  await page.waitForSelector('#key-dialog', { state: 'hidden' });
  // The address again: the key changes the height of the page.
  await page.evaluate(() => document.querySelector(location.hash || 'body')?.scrollIntoView());
  return page;
}

/** Takes a picture as WebP, which Playwright does not offer; `isClear` leaves out the background. */
async function takeWebp(page: Page, quality: number, isClear = false): Promise<string> {
  const session = await page.context().newCDPSession(page);
  const color = { r: 0, g: 0, b: 0, a: 0 };
  if (isClear) await session.send('Emulation.setDefaultBackgroundColorOverride', { color });
  return (await session.send('Page.captureScreenshot', { format: 'webp', quality })).data;
}

const reference = '/docs/api/game-servers.html#restartGameServer';
const desktop = await open(reference, { width: 1280, height: Math.round((1280 * height) / width) }, 'light');
const section = desktop.locator('#restartGameServer');
await section.getByRole('button', { name: 'Send' }).click();
await section.getByText('200 OK').waitFor();
const pictures = [
  { data: await takeWebp(desktop, 90), place: 'left: 20px; top: 20px; width: 860px' },
  {
    data: await takeWebp(await open('/docs', { width: 390, height: 780 }, 'dark'), 90),
    place: 'left: 930px; top: 60px; width: 250px',
  },
];
const frame = await browser.newPage({ viewport: { width: 1220, height: 640 }, deviceScaleFactor: 1.5 });
await frame.setContent(`<!doctype html><style>
  img { position: absolute; border-radius: 12px; border: 1px solid #8885; box-shadow: 0 12px 32px #0004 }
</style>${pictures.map(({ data, place }) => `<img src="data:image/webp;base64,${data}" style="${place}" alt="">`).join('')}`);
await frame.waitForFunction(() => [...document.images].every((image) => image.complete));
writeFileSync(join(docs, 'docs.webp'), Buffer.from(await takeWebp(frame, 80, true), 'base64'));

const small = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: 1 });
await small.setContent(
  `<!doctype html><body style="margin: 0"><img src="data:image/webp;base64,${pictures[0]!.data}" style="width: ${width}px">`,
);
await small.waitForFunction(() => document.images[0]!.complete);
writeFileSync(join(docs, 'first-minute.svg'), renderSvg(await takeWebp(small, 70)));
await browser.close();
await server.end();
rmSync(folder, { recursive: true });

/** Renders a line with the colours of a terminal. */
function renderLine(text: string): string {
  const style = new Set<string>();
  return text
    .split(codes)
    .map((part, at) => {
      if (at % 2 === 0) {
        const escaped = part.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
        return style.size === 0 || part === '' ? escaped : `<tspan class="${[...style].join(' ')}">${escaped}</tspan>`;
      }
      if (part in styles) style.add(styles[part]!);
      else if (part === '22') for (const one of 'bd') style.delete(one);
      else for (const one of part === '39' ? 'rgyc' : 'bdrgyc') style.delete(one);
      return '';
    })
    .join('');
}

/** Wraps a line like a terminal. */
function* wrap(text: string): Generator<string> {
  const units = text.match(new RegExp(`${codes.source}|.`, 'gsu')) ?? [];
  let [line, length] = ['', 0];
  for (const unit of units) {
    const isText = unit.length < 3;
    if (isText && length === columns) {
      yield line;
      [line, length] = ['', 0];
    }
    line += unit;
    if (isText) length += 1;
  }
  yield line;
}

/** Renders the recording; it scrolls, ends with the picture, and shows that at once to who wants no motion. */
function renderSvg(picture: string): string {
  const lines = shown.flatMap(({ at, text }) => [...wrap(text)].map((part) => ({ at, text: part })));
  const total = seconds + 1;
  const texts = lines.map(
    ({ at, text }, index) =>
      `<text x="${margin}" y="${margin + (index + 0.75) * lineHeight}" style="animation-delay: ${at.toFixed(2)}s">${renderLine(text)}</text>`,
  );
  const last = Math.max(0, lines.length - rows) * lineHeight;
  const steps = lines.flatMap(({ at }, index) => {
    const offset = (index + 1 - rows) * lineHeight;
    return offset > 0 ? [`${((at / total) * 100).toFixed(2)}% { transform: translateY(-${offset}px) }`] : [];
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="npm start, a start of the demo server by curl, its console, and the reference in a browser">
<style>
  text { font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dce2; white-space: pre; visibility: hidden; animation: show 0s forwards }
  image { visibility: hidden; animation: show 0s ${total.toFixed(2)}s forwards }
  .b { font-weight: bold } .d { fill: #8b949e } .r { fill: #ff7b72 } .g { fill: #7ee787 } .y { fill: #e3b341 } .c { fill: #79c0ff }
  g { animation: scroll ${total.toFixed(2)}s step-end forwards }
  @keyframes show { to { visibility: visible } }
  @keyframes scroll { ${steps.join(' ')} to { transform: translateY(-${last}px) } }
  @media (prefers-reduced-motion: reduce) { image { animation-delay: 0s } }
</style>
<clipPath id="screen"><rect width="${width}" height="${height}" rx="8"/></clipPath>
<g clip-path="url(#screen)" style="animation: none"><rect width="${width}" height="${height}" fill="#0d1117"/>
<g>${texts.join('\n')}</g>
<image width="${width}" height="${height}" href="data:image/webp;base64,${picture}"/></g>
</svg>
`;
}
