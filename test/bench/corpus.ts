import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Creates a seeded sequence of numbers in [0, 1) (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const vocabulary =
  `the server of a new release is started with one command and reads its settings from a file which every user may
  change before the backup has run so that nothing gets lost when a disk fails or the network between two machines is
  slow while players join world chunks load plugins log errors and the console shows memory limits ports records zones
  mail keys firewall rules kernel updates snapshot volume mount panel domain transfer price address password token`.split(
    /\s+/,
  );

const code = {
  bash: 'sudo systemctl restart nginx\njournalctl -u nginx --since "1 hour ago" | grep -v "200 OK"\nfor f in /srv/*.log; do gzip "$f"; done',
  yaml: 'server:\n  port: 25565\n  motd: "A world" # shown in the list\n  plugins: [backup, chat]\n',
  js: 'export async function load(id) {\n  const answer = await fetch(`/v1/items/${id}`);\n  if (!answer.ok) throw new Error("no");\n  return answer.json();\n}',
  json: '{\n  "name": "demo",\n  "limits": { "memory": 2048, "cpu": 1.5 },\n  "tags": ["a", "b", null, true]\n}',
  ini: '[Service]\nExecStart=/usr/bin/java -Xmx2G -jar server.jar\nRestart=on-failure\n',
  '': 'plain output, line one\n    indented & <escaped>\n',
} as const;

/** Path of an article below the content folder, without extension. */
function pathOf(index: number): string {
  return `/${index % 5 === 0 ? 'blog' : 'knowledgebase'}/topic-${(index * 7) % 16}/article-${index}`;
}

/**
 * Writes a folder of articles, identical in every run. The Markdown constructs and the sizes (half below 4 kB, a tenth
 * above 16 kB) resemble public documentation.
 */
export function writeCorpus(content: string, articles: number): void {
  const random = createRandom(6);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;
  const words = (count: number): string => Array.from({ length: count }, () => pick(vocabulary)).join(' ');
  const sentence = (count: number): string => {
    const text = words(count);
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  };
  const link = (): string => `[${words(2)}](${pathOf(below(articles))})`;
  const inline = (): string =>
    pick([
      () => `**${words(2)}**`,
      () => `*${words(3)}*`,
      () => `\`${words(1)} --${words(1)}\``,
      () => `[${words(3)}](https://www.example.com/${words(1)}?q=${below(100)})`,
      link,
      () => `https://docs.example.org/${words(1)}`,
      () => `~~${words(1)}~~`,
      () => `${words(1)} &amp; <kbd>Ctrl</kbd>`,
    ])();
  const paragraph = (): string =>
    Array.from({ length: 2 + below(4) }, () => `${sentence(6 + below(12))} ${random() < 0.5 ? `${inline()} ` : ''}`)
      .join('')
      .trim();
  const list = (mark: (index: number) => string): string =>
    Array.from({ length: 3 + below(5) }, (_, index) => {
      const nested = random() < 0.2 ? `\n    - ${words(5)}\n    - ${words(4)}` : '';
      return `${mark(index)} ${words(4 + below(10))} ${random() < 0.3 ? inline() : ''}${nested}`;
    }).join('\n');
  const fence = (): string => {
    const language = pick(Object.keys(code) as (keyof typeof code)[]);
    return `\`\`\`${language}\n${code[language].trimEnd()}\n# ${words(3)}\n\`\`\``;
  };
  const table = (): string => {
    const columns = 2 + below(3);
    const row = (cell: () => string): string => `| ${Array.from({ length: columns }, cell).join(' | ')} |`;
    const body = Array.from({ length: 3 + below(8) }, () => row(() => (random() < 0.3 ? `\`${words(1)}\`` : words(3))));
    return [row(() => words(1)), row(() => '---'), ...body].join('\n');
  };
  const quote = (): string => `> ${sentence(12)}\n> ${inline()}`;
  const alert = (): string => `> [!${pick(['NOTE', 'TIP', 'WARNING'])}]\n> ${sentence(14)}`;
  const html = (): string => `<details>\n<summary>${words(3)}</summary>\n\n${sentence(15)}\n\n</details>`;
  const image = (): string => `![${words(3)}](/media/picture.svg)`;
  const heading = (): string => `${pick(['##', '##', '###'])} ${sentence(2 + below(4)).slice(0, -1)}`;
  const bullets = (): string => list(() => '-');
  const steps = (): string => list((index) => `${index + 1}.`);
  const texts = Array.from({ length: 9 }, () => paragraph);
  const blocks = [...texts, heading, heading, heading, heading, fence, fence, fence, bullets, bullets, steps];
  const rare = [table, quote, alert, html, image, () => list((index) => `- [${index % 2 ? 'x' : ' '}]`)];

  const body = (bytes: number): string => {
    const parts = [paragraph()];
    for (let size = 0; size < bytes; size += parts.at(-1)!.length) parts.push(pick(random() < 0.1 ? rare : blocks)());
    return `${parts.join('\n\n')}\n`;
  };
  const day = (): string => `2025-${String(1 + below(12)).padStart(2, '0')}-${String(1 + below(28)).padStart(2, '0')}`;

  write(join(content, 'media/picture.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>\n');
  for (let index = 0; index < articles; index += 1) {
    const path = pathOf(index);
    const front = [`title: ${sentence(4).slice(0, -1)}`, `description: ${sentence(9)}`];
    if (path.startsWith('/blog/')) front.push(`date: ${day()}`, 'author: Marit', 'cover: /media/picture.svg');
    // Sizes have a log-normal distribution around 3.8 kB, like real articles.
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const bytes = Math.min(200_000, 3800 * Math.exp(1.15 * normal));
    write(join(content, `${path}.md`), `---\n${front.join('\n')}\n---\n\n${body(bytes)}`);
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Writes the smallest valid catalog; the server sends no network requests for it. */
export function writeCatalog(catalog: string): void {
  const plan = '{ name: A, ram: 1, storage: 10, price: 2.49, orderLink: "https://www.example.com/", soldOut: false }';
  const plans = `name: Plans\nsoldOut: false\nsoldOutMessage: ""\nplans:\n  - ${plan}\n`;
  write(join(catalog, 'services/web.yaml'), plans);
  write(join(catalog, 'games/minecraft.yaml'), plans);
  const prices = '{ EUR: { 1: { register: 9.5, renew: 10, transfer: 9.5 } } }';
  const orderUrl = '"https://www.example.com/domain?name={domain}"';
  write(join(catalog, 'domains.yaml'), `order_url: ${orderUrl}\ntlds:\n  .com: { active: true, prices: ${prices} }\n`);
  write(join(catalog, 'status.yaml'), 'monitors: []\nmaintenance: []\n');
}

/**
 * Makes a content folder `copies` times as large. Each copy of an article has a separate category and changed words in
 * its prose, so no memo entry fits two copies. Links keep their targets.
 */
export function multiplyContent(content: string, copies: number): void {
  const files = globSync('{blog,knowledgebase}/*/*.{md,yaml}', { cwd: content }).toSorted();
  for (let copy = 2; copy <= copies; copy += 1) {
    const random = createRandom(copy);
    for (const file of files) {
      const category = `${dirname(file)}-${copy}`;
      const text = readFileSync(join(content, file), 'utf8');
      const changed = file.endsWith('.md') ? changeWords(text, basename(category), copy, random) : text;
      write(join(content, category, basename(file)), changed);
    }
  }
}

/**
 * Matches everything except prose: code, HTML, brackets and their targets, and words with other characters than
 * letters.
 */
const notProse = /(`+[^`]*`+|<[^>]*>|\]\([^)]*\)|!?\[[^\]]*\]|\S*[^\s\p{L}.,;:?"*()-]\S*)/u;
const word = /(?<!\p{L})\p{Ll}{5,}(?!\p{L})/gu;
const fence = /^[\s>]*(`{3,}(?!.*`)|~{3,})/;

/** Rotates the letters of about half of an article's longer words, and sets its category. */
function changeWords(text: string, category: string, copy: number, random: () => number): string {
  const rotate = (letters: string): string => {
    if (random() < 0.5) return letters;
    const by = 1 + (copy % (letters.length - 1));
    return letters.slice(by) + letters.slice(0, by);
  };
  /** The fence that ends the current code block. */
  let closing: string | undefined;
  const change = (line: string): string => {
    const [, mark] = fence.exec(line) ?? [];
    if (closing !== undefined) {
      if (mark?.startsWith(closing)) closing = undefined;
      return line;
    }
    closing = mark;
    // Keep headings, because links point to their ids. An indented line may be code, a line with < may be HTML.
    if (mark !== undefined || /^(?: {4}|\t|#)|[<|]/.test(line)) return line;
    const parts = line.split(notProse);
    return parts.map((part, index) => (index % 2 === 0 ? part.replace(word, rotate) : part)).join('');
  };
  const end = text.indexOf('\n---', 3);
  const front = text.slice(0, end).replace(/^category:.*/m, `category: ${category}`);
  const body = text.slice(end).split('\n').map(change).join('\n');
  // If no word of an article changed, this line still makes a difference.
  return `${front}${body}\n\nCopy ${copy}.\n`;
}
