import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const repository = resolve(import.meta.dirname, '../..');
const site = 'examples/site/site.css';
/** The style sheets with the colours of the site. They are separate, because each is served from another place. */
const others = [
  'examples/clients/browser/console.css',
  'generator/preview/browser/preview.css',
  'generator/reference/docs.css',
];

type Scheme = 'light' | 'dark';
type Palette = Readonly<Record<string, Readonly<Record<Scheme, string>>>>;

/** Reads the colours of the first rule of a style sheet. */
function readPalette(file: string): Palette {
  const [, rule = ''] = /^[^{]*:root[^{]*\{(.*?)\}/s.exec(readFileSync(resolve(repository, file), 'utf8')) ?? [];
  const rows = rule.matchAll(/^ {2}--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);$/gm);
  return Object.fromEntries(Array.from(rows, ([, name, light, dark]) => [name!, { light: light!, dark: dark! }]));
}

/** The contrast of two colours, as #rrggbb (WCAG 2.2). */
function contrastOf(one: string, other: string): number {
  const luminanceOf = (colour: string): number => {
    const shares = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
    const [red = 0, green = 0, blue = 0] = shares.map((share) =>
      share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const palette = readPalette(site);

test('the site has 13 colours', () => {
  expect(Object.keys(palette)).toHaveLength(13);
});

test.each(others)('%s has the colours of the site', (file) => {
  expect(readPalette(file)).toEqual(palette);
});

test.each(['light', 'dark'] as const)('the %s colours are readable', (scheme) => {
  const of = (name: string): string => palette[name]![scheme];
  const least: Record<string, number> = { edge: 3, focus: 3, 'on-accent': 4.5 };
  for (const name of ['text', 'muted', 'accent', 'free', 'warn', 'alarm']) least[name] = 4.5;
  for (const [name, limit] of Object.entries(least)) {
    const grounds =
      name === 'on-accent' ? ['accent'] : name === 'edge' ? ['page', 'raised'] : ['page', 'raised', 'sunken'];
    for (const ground of grounds) {
      const contrast = contrastOf(of(name), of(ground));
      expect({ name, ground, isReadable: contrast >= limit }).toEqual({ name, ground, isReadable: true });
    }
  }
});

test('the colours of a console are readable on its background', () => {
  const rules = readFileSync(resolve(repository, others[0]!), 'utf8').matchAll(/\.c(\d+) \{\s+color: (#\w{6});/g);
  const contrasts = Array.from(
    rules,
    ([, number, colour]) => [Number(number), contrastOf(colour!, palette['page']!.dark)] as const,
  );
  expect(contrasts.map(([number]) => number)).toEqual(Array.from({ length: 16 }, (_, at) => at));
  expect(contrasts.filter(([, contrast]) => contrast < 4.5)).toEqual([]);
});
