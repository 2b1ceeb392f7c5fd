import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { toIdnaName } from '../../../server/domains/names.ts';
import { createTestApp } from '../../helpers/app.ts';
import { describeInstalled } from '../../helpers/installed.ts';
import { ask } from '../../server/ask.ts';

/** Texts of characters that IDNA2008 allows, at least in some contexts (RFC 5892, 2: PVALID, CONTEXTJ, CONTEXTO). */
const allowed =
  // oxlint-disable-next-line no-misleading-character-class
  /^[[[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]--[\p{CWKCF}\p{DI}\p{White_Space}\p{NChar}\u1100-\u11FF\u20D0-\u20FF\uA960-\uA97C\uD7B0-\uD7FB\u{1D100}-\u{1D24F}\u0640\u07FA\u302E\u302F\u3031-\u3035\u303B]][a-z0-9.\-\u00B7ßς\u0375\u05F3\u05F4\u06FD\u06FE\u0F0B\u200C\u200D\u3007\u30FB]]*$/v;

/** Lists the scripts of this Node's Unicode by ISO 15924 code, without Common, Inherited and Unknown. */
function* scripts(): Generator<string> {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  for (const one of letters.toUpperCase())
    for (const two of letters)
      for (const three of letters)
        for (const four of letters) {
          const code = one + two + three + four;
          // Qaac and Qaai are aliases of Copt and Zinh.
          if (!/^(?:Zyyy|Zinh|Zzzz|Qaa.)$/.test(code) && isScript(code)) yield code;
        }
}

function isScript(code: string): boolean {
  try {
    return Boolean(new RegExp(String.raw`\p{scx=${code}}`, 'u'));
  } catch {
    return false;
  }
}

/** Renders `scripts.json`: ranges of allowed characters by their scripts (Script_Extensions). */
function renderScripts(): string {
  const characters = Array.from({ length: 0x11_00_00 }, (_, code) => code)
    .filter((code) => code < 0xd8_00 || code > 0xdf_ff)
    .map((code) => String.fromCodePoint(code))
    .filter((character) => allowed.test(character));
  const all = characters.join('');
  const found = new Map<number, string>();
  for (const code of scripts()) {
    for (const [character] of all.matchAll(new RegExp(String.raw`\p{scx=${code}}`, 'gu'))) {
      const at = character.codePointAt(0)!;
      found.set(at, found.has(at) ? `${found.get(at)} ${code}` : code);
    }
  }
  const ranges: { from: number; to: number; of: string }[] = [];
  for (const [at, of] of [...found].toSorted(([one], [other]) => one - other)) {
    const last = ranges.at(-1);
    if (last?.of === of && last.to === at - 1) last.to = at;
    else ranges.push({ from: at, to: at, of });
  }
  const render = ({ from, to }: (typeof ranges)[number]): string =>
    from === to ? from.toString(16) : `${from.toString(16)}-${to.toString(16)}`;
  const table = Object.fromEntries(
    [...Map.groupBy(ranges, ({ of }) => of)].map(([of, group]) => [of, group.map(render).join(' ')]),
  );
  return `${JSON.stringify(table, null, 2)}\n`;
}

/** A line of the file: a name, and the verdict of UTS #46 with all checks. */
interface Line {
  readonly source: string;
  /** The result of toUnicode. */
  readonly unicode: string;
  /** The result of toASCII. */
  readonly name: string;
  readonly valid: boolean;
}

/** Unicode's test file of UTS #46, in version 13.0. */
const testFile = {
  name: 'IDNA test file',
  package: 'librust-idna-dev',
  commands: ['IdnaTestV2.txt'],
  folders: '/usr/share/cargo/registry/idna-*/tests',
  start: async (folder: string) => toLines(await readFile(join(folder, 'IdnaTestV2.txt'), 'utf8')),
  stop: () => undefined,
};

/** Characters that 13.0 disallows but later versions map, ignore or assign. */
const allowedSince = /[\u04C0\u10A0-\u10C5\u115F\u2132\u3164\u{32931}]/u;

describeInstalled(testFile, (lines) => {
  test('every name gets the verdict of the file, or a stricter one by IDNA2008 or for mixed scripts', async () => {
    const app = await createTestApp({ settings: { DOMAIN_RATELIMIT_BURST: '100000' } });
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const accepted: string[] = [];
    const refused: { unicode: string; message: string }[] = [];
    let same = 0;
    for (const { source, unicode, name: aLabels, valid } of lines()) {
      // No TLD is on sale here: a valid name is 404. Another label makes a name of a single label.
      const name = `${source.replace(/[.\u3002\uFF0E\uFF61]$/u, '')}.test`;
      const { status, text } = await ask(app, `/v1/domains/search?domain=${encodeURIComponent(name)}`, { agent });
      expect([400, 404]).toContain(status);
      // The value, which a search returns only for a TLD on sale.
      if (valid && status === 404)
        expect(toIdnaName(name)).toEqual({
          name: `${aLabels.replace(/\.$/, '')}.test`,
          unicode: `${unicode.replace(/\.$/, '')}.test`,
        });
      if (valid === (status === 404)) same += 1;
      else if (valid) refused.push({ unicode, message: (JSON.parse(text) as { message: string }).message });
      else accepted.push(unicode);
    }
    const mixed = refused.filter(({ message }) => message.includes('mixes letters of different scripts'));
    const disallowed = refused.filter(({ message }) => message.includes('a character that no domain may hold'));
    console.log(
      `${lines().length} names of IdnaTestV2.txt: ${same} have its verdict; ${disallowed.length} are refused for a character ` +
        `that IDNA2008 does not allow, ${mixed.length} for mixed scripts; ${accepted.length} are accepted by a newer Unicode`,
    );
    expect(accepted.filter((unicode) => !allowedSince.test(unicode))).toEqual([]);
    expect(refused.filter((one) => !mixed.includes(one) && !disallowed.includes(one))).toEqual([]);
    expect(disallowed.filter(({ unicode }) => allowed.test(unicode))).toEqual([]);
    expect(mixed.filter(({ unicode }) => !allowed.test(unicode))).toEqual([]);
  });
});

function toLines(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    const [source = '', unicode = '', status = '', ascii = '', asciiStatus = ''] = line
      .replace(/#.*/, '')
      .split(';')
      .map(unescape);
    if (line.trim() === '' || line.startsWith('#') || !source.isWellFormed()) return [];
    // Another label would make these names too long.
    if (ascii.length > 253 - '.test'.length || source.length > 253 - '.test'.length) return [];
    const whole = unicode || source;
    return [{ source, unicode: whole, name: ascii || whole, valid: ['', '[]'].includes(asciiStatus || status) }];
  });
}

function unescape(column: string): string {
  const toCharacter = (_: string, four?: string, more?: string): string =>
    String.fromCodePoint(parseInt(four ?? more!, 16));
  return column.trim().replace(/\\u([0-9A-F]{4})|\\x\{([0-9A-F]+)\}/gi, toCharacter);
}

test('the table of scripts matches this version of Node; vitest -u writes the table', async () => {
  await expect(renderScripts()).toMatchFileSnapshot('../../../server/domains/scripts.json');
});
