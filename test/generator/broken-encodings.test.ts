import { describe, expect, test } from 'vitest';
import { article, createProject } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const file = 'content/blog/news/broken.md';
const sound = article({}, 'Text.\n');
const notUtf8 = 'the text is not valid UTF-8';

/** Ten valid lines, followed by bytes. */
function withBytes(...bytes: number[]): Buffer {
  return Buffer.concat([Buffer.from(article({}, 'Text.\n\n')), Buffer.from(bytes)]);
}

describe('a text is refused with its line if', () => {
  test.each<[string, string | Buffer, string]>([
    ['a byte is Latin-1', withBytes(0x53, 0x63, 0x68, 0xf6, 0x6e), `11:1  ${notUtf8} (save it as UTF-8)`],
    ['a character is cut off at the end', withBytes(0xe2, 0x82), `11:1  ${notUtf8} (save it as UTF-8)`],
    [
      'a character is half of a surrogate pair',
      withBytes(0xed, 0xa0, 0x80, 0x0a),
      `11:1  ${notUtf8} (save it as UTF-8)`,
    ],
    ['a character has an overlong encoding', withBytes(0xc0, 0xaf, 0x0a), `11:1  ${notUtf8} (save it as UTF-8)`],
    [
      'two lines are invalid; the first is reported',
      withBytes(0xf6, 0x0a, 0xf6),
      `11:1  ${notUtf8} (save it as UTF-8)`,
    ],
    [
      'it is little-endian UTF-16',
      Buffer.from(`\uFEFF${sound}`, 'utf16le'),
      `1:1  ${notUtf8} (it looks like UTF-16; save it as UTF-8)`,
    ],
    [
      'it is big-endian UTF-16',
      Buffer.from(`\uFEFF${sound}`, 'utf16le').swap16(),
      `1:1  ${notUtf8} (it looks like UTF-16; save it as UTF-8)`,
    ],
    ['it holds a NUL', article({}, 'Text.\n\nTe\0xt.\n'), '11:3  the text contains a NUL character (remove it)'],
    [
      'its front matter holds a NUL',
      article({ title: 'A\0B' }, 'Text.\n'),
      '2:9  the text contains a NUL character (remove it)',
    ],
  ])('%s', async (_, content, problem) => {
    expect(await problemsOf(createProject({ [file]: content }))).toEqual([`${file}:${problem}`]);
  });

  test('a byte is Latin-1, in a file with old Mac line ends', async () => {
    const text = article({}, 'Text.\n\n').replaceAll('\n', '\r');
    const content = Buffer.concat([Buffer.from(text), Buffer.from([0xf6, 0x0d])]);
    expect(await problemsOf(createProject({ [file]: content }))).toEqual([
      `${file}:11:1  ${notUtf8} (save it as UTF-8)`,
    ]);
  });

  test('it is YAML with invalid bytes', async () => {
    const root = createProject({
      'catalog/domains.yaml': 'tlds: {}\n# \0\n',
      'catalog/services/web.yaml': Buffer.from('# Preise\nname: M\xFCller\n', 'latin1'),
      'content/blog/news/category.yaml': Buffer.from('name: M\xFCller\n', 'latin1'),
    });
    expect(await problemsOf(root)).toEqual([
      'catalog/domains.yaml:2:3  the text contains a NUL character (remove it)',
      `catalog/services/web.yaml:2:1  ${notUtf8} (save it as UTF-8)`,
      `content/blog/news/category.yaml:1:1  ${notUtf8} (save it as UTF-8)`,
    ]);
  });
});
