import { describe, expect, test } from 'vitest';
import { article, createProject } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const valid = article({}, 'Text.\n');

describe('a file that cannot be published is shown with the name to use', () => {
  const slug = 'must contain only lower-case letters, digits and hyphens';
  const media = 'a media path may contain only letters, digits, dots, hyphens and underscores';
  const types = 'avif, gif, jpeg, jpg, m4a, mp3, mp4, ogg, opus, pdf, png, svg, wav, webm, webp';

  test.each([
    ['content/blog/news/Bild 1.md', `"Bild 1" ${slug} (rename it to "bild-1.md")`],
    ['content/blog/news/größe.md', `"größe" ${slug} (rename it to "groesse.md")`],
    ['content/blog/news/Über uns.md', `"Über uns" ${slug} (rename it to "ueber-uns.md")`],
    ['content/blog/news/éclair.md', `"éclair" ${slug} (rename it to "eclair.md")`],
    ['content/blog/news/Łódź.md', `"Łódź" ${slug} (rename it to "lodz.md")`],
    ['content/blog/news/日本.md', `"日本" ${slug}`],
    ['content/blog/Größen & Maße/a.md', `"Größen & Maße" ${slug} (rename it to "groessen-and-masse")`],
    ['content/blog/news/x.MD', 'the name of an article ends in .md (rename it to "x.md")'],
    ['content/blog/news/Bild 1.MD', 'the name of an article ends in .md (rename it to "bild-1.md")'],
    ['content/blog/news/x.markdown', 'the name of an article ends in .md (rename it to "x.md")'],
    [
      'content/blog/news/category.yml',
      'the settings of a category are in category.yaml (rename it to "category.yaml")',
    ],
    [
      'content/blog/news/Category.yaml',
      'the settings of a category are in category.yaml (rename it to "category.yaml")',
    ],
    ['content/media/kb/photo.PNG', '".PNG" is not a media type (rename it to "photo.png")'],
    ['content/media/kb/Photo_1.JPEG', '".JPEG" is not a media type (rename it to "Photo_1.jpeg")'],
    ['content/media/kb/Bild 1.png', `${media} (rename it to "bild-1.png")`],
    ['content/media/kb/Bild 1.PNG', `${media} (rename it to "bild-1.png")`],
    ['content/media/kb/größe 2.0.png', `${media} (rename it to "groesse-2-0.png")`],
    ['content/media/Meine Bilder/a.png', `${media} (rename the folder "Meine Bilder" to "meine-bilder")`],
    ['content/media/kb/日本.png', media],
    ['content/media/kb/page.html', `".html" is not a media type (use ${types})`],
    ['catalog/games/rust.yml', 'the files of the catalog end in .yaml (rename it to "rust.yaml")'],
    ['catalog/games/Rust Server.yml', 'the files of the catalog end in .yaml (rename it to "rust-server.yaml")'],
    ['catalog/services/Mail.YAML', 'the files of the catalog end in .yaml (rename it to "mail.yaml")'],
    ['catalog/domains.yml', 'the files of the catalog end in .yaml (rename it to "domains.yaml")'],
  ])('%s', async (file, problem) => {
    const changes = file.endsWith('domains.yml') ? { 'catalog/domains.yaml': undefined } : {};
    expect(await problemsOf(createProject({ ...changes, [file]: valid }))).toEqual([`${file}:1:1  ${problem}`]);
  });

  test('once for a folder, not for each of its files', async () => {
    const root = createProject({ 'content/blog/Our News/a.md': valid, 'content/blog/Our News/b.md': valid });
    expect(await problemsOf(root)).toEqual([
      `content/blog/Our News/a.md:1:1  "Our News" ${slug} (rename it to "our-news")`,
    ]);
  });

  test('but an article may be called like the settings of its category', async () => {
    expect(await problemsOf(createProject({ 'content/blog/news/category.md': valid }))).toEqual([]);
  });

  test('also if its plans are valid', async () => {
    const plans = 'name: A\nsoldOut: false\nsoldOutMessage: ""\nplans: []\n';
    const file = 'catalog/games/Spiel für Größen.yaml';
    expect(await problemsOf(createProject({ [file]: plans }))).toEqual([
      `${file}:1:1  the file name ${slug} (rename it to "spiel-fuer-groessen.yaml")`,
    ]);
  });
});
