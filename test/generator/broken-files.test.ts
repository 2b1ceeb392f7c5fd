import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mediaSamples } from '../helpers/media.ts';
import { article, createProject, guide } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const valid = article({}, 'Text.\n');

describe('the name of an article', () => {
  const bad = 'must contain only lower-case letters, digits and hyphens';

  test.each([
    ['content/blog/news/Upper.md', `"Upper" ${bad} (rename it to "upper.md")`],
    ['content/blog/news/two words.md', `"two words" ${bad} (rename it to "two-words.md")`],
    ['content/blog/news/größe.md', `"größe" ${bad} (rename it to "groesse.md")`],
    ['content/blog/news/über-uns.md', `"über-uns" ${bad} (rename it to "ueber-uns.md")`],
    ['content/blog/news/under_score.md', `"under_score" ${bad} (rename it to "under-score.md")`],
    ['content/blog/news/2.0.md', `"2.0" ${bad} (rename it to "2-0.md")`],
    ['content/blog/news/日本.md', `"日本" ${bad}`],
    ['content/blog/news/README.md', `"README" ${bad} (rename it to "readme.md")`],
    ['content/blog/Our News/a.md', `"Our News" ${bad} (rename it to "our-news")`],
  ])('is refused if it is not a valid path: %s', async (file, problem) => {
    expect(await problemsOf(createProject({ [file]: valid }))).toEqual([`${file}:1:1  ${problem}`]);
  });

  test('is refused if it differs from another only in case', async () => {
    const root = createProject({ 'content/blog/news/Second.md': valid });
    expect(await problemsOf(root)).toEqual([
      `content/blog/news/Second.md:1:1  "Second" ${bad} (rename it to "second.md")`,
      'content/blog/news/second.md:1:1  the path differs from content/blog/news/Second.md only in case or Unicode form ' +
        '(rename one of the two)',
    ]);
  });

  test('is refused if it differs from another only in Unicode form', async () => {
    const [composed, decomposed] = ['content/blog/news/\u00E4.md', 'content/blog/news/a\u0308.md'];
    expect(await problemsOf(createProject({ [composed]: valid, [decomposed]: valid }))).toEqual([
      `${decomposed}:1:1  "a\u0308" ${bad} (rename it to "ae.md")`,
      `${composed}:1:1  the path differs from ${decomposed} only in case or Unicode form (rename one of the two)`,
    ]);
  });
});

describe('a file in the wrong folder is refused:', () => {
  const articles = 'articles are blog/<category>/<slug>.md or knowledgebase/<category>/<slug>.md';
  const others = 'images and other files for readers belong in media/';

  test.each([
    ['content/blog/a.md', articles],
    ['content/blog/a/b/c.md', articles],
    ['content/a.md', articles],
    ['content/readme.md', articles],
    ['content/pages/a/b.md', articles],
    ['content/Blog/news/a.md', articles],
    ['content/knowledgebase/README.md', articles],
    ['content/picture.png', others],
    ['content/blog/news/picture.png', others],
    ['content/blog/news/pictures/a.png', others],
    ['content/knowledgebase/category.yaml', others],
  ])('%s', async (file, hint) => {
    expect(await problemsOf(createProject({ [file]: valid }))).toEqual([
      `${file}:1:1  this file is out of place (${hint})`,
    ]);
  });
});

describe('a media file is refused if', () => {
  const types = 'avif, gif, jpeg, jpg, m4a, mp3, mp4, ogg, opus, pdf, png, svg, wav, webm, webp';
  const badPath = 'a media path may contain only letters, digits, dots, hyphens and underscores';

  test.each([
    ['its type is unknown', 'content/media/kb/setup.exe', `".exe" is not a media type (use ${types})`],
    ['a browser would execute it', 'content/media/kb/page.html', `".html" is not a media type (use ${types})`],
    [
      'its type is in upper case',
      'content/media/kb/photo.PNG',
      '".PNG" is not a media type (rename it to "photo.png")',
    ],
    ['it has no type', 'content/media/kb/photo', `"" is not a media type (use ${types})`],
    ['its name has a space', 'content/media/kb/my photo.png', `${badPath} (rename it to "my-photo.png")`],
    ['its name has an umlaut', 'content/media/kb/größe.png', `${badPath} (rename it to "groesse.png")`],
  ])('%s', async (_, file, problem) => {
    expect(await problemsOf(createProject({ [file]: 'x' }))).toEqual([`${file}:1:1  ${problem}`]);
  });

  test('it differs from another only in case', async () => {
    const root = createProject({
      'content/media/kb/Plan.svg': mediaSamples['svg'],
      'content/media/kb/plan.svg': 'x',
      'content/knowledgebase/vps/plan.md': guide('Plan', '![The plan](/media/kb/Plan.svg)\n'),
    });
    expect(await problemsOf(root)).toEqual([
      'content/media/kb/plan.svg:1:1  the path differs from content/media/kb/Plan.svg only in case or Unicode form ' +
        '(rename one of the two)',
    ]);
  });
});

describe('a path that is not a regular file', () => {
  const link = 'symbolic links are not followed (put a copy of the file here)';

  test.each([
    ['a file outside', 'content/blog/news/out.md', '../../../outside.md'],
    ['a file inside', 'content/blog/news/copy.md', 'first.md'],
    ['a directory', 'content/blog/system', '/etc'],
    ['its own folder', 'content/blog/news/up', '..'],
    ['itself', 'content/blog/news/loop.md', 'loop.md'],
    ['a missing file', 'content/blog/news/gone.md', 'nowhere.md'],
    ['a device', 'content/media/kb/zero.png', '/dev/zero'],
    ['a file of the system', 'catalog/services/passwd.yaml', '/etc/passwd'],
  ])('is refused if it is a link to %s', async (_, path, target) => {
    const root = createProject({ 'outside.md': valid });
    symlinkSync(target, join(root, path));
    expect(await problemsOf(root)).toEqual([`${path}:1:1  ${link}`]);
  });

  test.each(['content/blog/news/pipe.md', 'content/media/kb/pipe.png', 'catalog/games/pipe.yaml'])(
    'is refused if it is a named pipe, and the pipe is not opened (%s)',
    async (path) => {
      const root = createProject();
      execFileSync('sh', ['-c', 'mkfifo "$0"', join(root, path)]);
      expect(await problemsOf(root)).toEqual([`${path}:1:1  this is not a regular file (put a copy of the file here)`]);
    },
  );

  test('is a folder even if it is named like an article', async () => {
    const root = createProject();
    mkdirSync(join(root, 'content/blog/news/folder.md'));
    expect(await problemsOf(root)).toEqual([]);
    writeFileSync(join(root, 'content/blog/news/folder.md/a.md'), valid);
    expect(await problemsOf(root)).toEqual([
      'content/blog/news/folder.md/a.md:1:1  this file is out of place ' +
        '(articles are blog/<category>/<slug>.md or knowledgebase/<category>/<slug>.md)',
    ]);
  });
});

describe('a folder of sources', () => {
  const missing = 'the folder does not exist (name another with --content or --catalog)';

  test.each(['content', 'catalog'])('is refused if it is missing (%s)', async (folder) => {
    const root = createProject();
    renameSync(join(root, folder), join(root, 'elsewhere'));
    expect(await problemsOf(root)).toContain(`${folder}:1:1  ${missing}`);
  });

  test('is refused if it is a file', async () => {
    const root = createProject();
    rmSync(join(root, 'catalog'), { recursive: true });
    writeFileSync(join(root, 'catalog'), 'name: Web\n');
    expect(await problemsOf(root)).toEqual([
      'catalog:1:1  the folder does not exist (name another with --content or --catalog)',
    ]);
  });
});
