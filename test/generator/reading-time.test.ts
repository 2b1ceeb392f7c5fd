import { describe, expect, test } from 'vitest';
import { publishTable } from './render.ts';

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');

describe('the reading time', () => {
  const texts = [
    ['one word', 'Word.', 1],
    ['200 words', words(200), 1],
    ['201 words', words(201), 2],
    ['400 words', words(400), 2],
    ['401 words', words(401), 3],
    ['4,000 words', words(4000), 20],
    ['200 words with dashes and signs between them', `${words(100)} - – & | ${words(100)}`, 1],
    ['200 words, some of them partly bold', `**w**ord ~~w~~or*d* [w](first.md)ord ${words(197)}`, 1],
    ['200 words in paragraphs', Array.from({ length: 200 }, () => 'word').join('\n\n'), 1],
    ['201 words in paragraphs', Array.from({ length: 201 }, () => 'word').join('\n\n'), 2],
    ['201 words broken over lines', Array.from({ length: 201 }, () => 'word').join('\\\n'), 2],
    [
      '201 words in headings, lists, tables and quotes',
      `# a\n\n- b\n\n> c\n\n| d | e |\n|-|-|\n| f | g |\n\n${words(194)}`,
      2,
    ],
    ['201 words, one of them in a footnote', `${words(200)}[^1]\n\n[^1]: word`, 2],
    ['200 words and a block of code', `${words(200)}\n\n\`\`\`\n${words(500)}\n\`\`\``, 1],
    ['200 words and an indented block of code', `${words(200)}\n\n    ${words(500)}`, 1],
    ['200 words and inline code', `${words(200)} \`${words(500)}\``, 1],
    ['200 words and a comment', `${words(200)}\n\n<!-- ${words(500)} -->`, 1],
    ['200 words and the tags around one of them', `<b class="a b c d">word</b> ${words(199)}`, 1],
    ['only code', '```\ncode\n```', 1],
    ['200 Chinese characters', '漢'.repeat(200), 1],
    ['201 Chinese characters', '漢'.repeat(201), 2],
    ['201 Japanese characters with their signs', `${'日本語の文。'.repeat(40)}漢`, 2],
    ['200 Japanese characters with their signs', '日本語の文。'.repeat(40), 1],
    ['199 Chinese characters and a word', `${'漢'.repeat(199)} word`, 1],
    ['200 Chinese characters and a word', `${'漢'.repeat(200)}word`, 2],
    ['201 Korean words', Array.from({ length: 201 }, () => '한국어').join(' '), 2],
    ['201 Russian words', Array.from({ length: 201 }, () => 'слово').join(' '), 2],
  ] as const;
  const pages = publishTable(texts.map(([, markdown]) => markdown));

  test.each(texts)('of %s is rounded up to whole minutes', async (_, markdown, minutes) => {
    expect((await pages(markdown)).readTime).toBe(`${minutes} min read`);
  });
});
