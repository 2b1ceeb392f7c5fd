/** Texts of characters that IDNA2008 allows, also some only beside certain others (RFC 5892, 2: PVALID, CONTEXTJ, CONTEXTO). */
export const allowed =
  // oxlint-disable-next-line no-misleading-character-class
  /^[[[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]--[\p{CWKCF}\p{DI}\p{White_Space}\p{NChar}\u1100-\u11FF\u20D0-\u20FF\uA960-\uA97C\uD7B0-\uD7FB\u{1D100}-\u{1D24F}\u0640\u07FA\u302E\u302F\u3031-\u3035\u303B]][a-z0-9.\-\u00B7ßς\u0375\u05F3\u05F4\u06FD\u06FE\u0F0B\u200C\u200D\u3007\u30FB]]*$/v;

/** All scripts of this Node's Unicode, as in ISO 15924; without Common, Inherited and Unknown. */
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

/** Renders `scripts.json`: the ranges of allowed characters with the same scripts (Script_Extensions), by these scripts. */
export function renderScripts(): string {
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
