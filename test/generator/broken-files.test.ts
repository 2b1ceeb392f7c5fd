import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mediaSamples } from '../helpers/media.ts';
import { article, createProject, guide, temporaryFolder } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { problemsOf, testPaths, testProjects } from './tables.ts';

const valid = article({}, 'Text.\n');

const slug = 'must contain only lower-case letters, digits and hyphens';

describe('the name of an article is refused with a better name:', () => {
  testPaths(valid, {
    'content/blog/news/Upper.md': `"Upper" ${slug} (rename it to "upper.md")`,
    'content/blog/news/two words.md': `"two words" ${slug} (rename it to "two-words.md")`,
    'content/blog/news/größe.md': `"größe" ${slug} (rename it to "groesse.md")`,
    'content/blog/news/über-uns.md': `"über-uns" ${slug} (rename it to "ueber-uns.md")`,
    'content/blog/news/under_score.md': `"under_score" ${slug} (rename it to "under-score.md")`,
    'content/blog/news/2.0.md': `"2.0" ${slug} (rename it to "2-0.md")`,
    'content/blog/news/日本.md': `"日本" ${slug}`,
    'content/blog/news/README.md': `"README" ${slug} (rename it to "readme.md")`,
    'content/blog/Our News/a.md': `"Our News" ${slug} (rename it to "our-news")`,
    'content/blog/news/Bild 1.md': `"Bild 1" ${slug} (rename it to "bild-1.md")`,
    'content/blog/news/Über uns.md': `"Über uns" ${slug} (rename it to "ueber-uns.md")`,
    'content/blog/news/éclair.md': `"éclair" ${slug} (rename it to "eclair.md")`,
    'content/blog/news/Łódź.md': `"Łódź" ${slug} (rename it to "lodz.md")`,
    'content/blog/Größen & Maße/a.md': `"Größen & Maße" ${slug} (rename it to "groessen-and-masse")`,
    'content/blog/news/x.MD': 'the file name of an article must end in .md (rename it to "x.md")',
    'content/blog/news/Bild 1.MD': 'the file name of an article must end in .md (rename it to "bild-1.md")',
    'content/blog/news/x.markdown': 'the file name of an article must end in .md (rename it to "x.md")',
    'content/blog/news/category.yml':
      'the settings of a category belong in category.yaml (rename it to "category.yaml")',
    'content/blog/news/Category.yaml':
      'the settings of a category belong in category.yaml (rename it to "category.yaml")',
  });

  testProjects({
    'it differs from another only in case': [
      { 'content/blog/news/Second.md': valid },
      `content/blog/news/Second.md:1:1  "Second" ${slug} (rename it to "second.md")`,
      'content/blog/news/second.md:1:1  the path differs from content/blog/news/Second.md only in case or Unicode form ' +
        '(rename one of the two)',
    ],
    'it differs from another only in Unicode form': [
      { 'content/blog/news/\u00E4.md': valid, 'content/blog/news/a\u0308.md': valid },
      `content/blog/news/a\u0308.md:1:1  "a\u0308" ${slug} (rename it to "ae.md")`,
      'content/blog/news/\u00E4.md:1:1  the path differs from content/blog/news/a\u0308.md only in case or Unicode form ' +
        '(rename one of the two)',
    ],
    'once for a folder, not for each of its files': [
      { 'content/blog/Our News/a.md': valid, 'content/blog/Our News/b.md': valid },
      `content/blog/Our News/a.md:1:1  "Our News" ${slug} (rename it to "our-news")`,
    ],
    'but an article may be called like the settings of its category': [{ 'content/blog/news/category.md': valid }],
  });
});

describe('a file in the wrong folder is refused:', () => {
  const articles = 'articles are blog/<category>/<slug>.md or knowledgebase/<category>/<slug>.md';
  const others = 'images and other files for readers belong in media/';

  const toReason = (hint: string): string => `this file is out of place (${hint})`;
  testPaths(valid, {
    'content/blog/a.md': toReason(articles),
    'content/blog/a/b/c.md': toReason(articles),
    'content/a.md': toReason(articles),
    'content/readme.md': toReason(articles),
    'content/pages/a/b.md': toReason(articles),
    'content/Blog/news/a.md': toReason(articles),
    'content/knowledgebase/README.md': toReason(articles),
    'content/picture.png': toReason(others),
    'content/blog/news/picture.png': toReason(others),
    'content/blog/news/pictures/a.png': toReason(others),
    'content/knowledgebase/category.yaml': toReason(others),
  });
});

describe('a media file is refused with a better name:', () => {
  const types = 'avif, gif, jpeg, jpg, m4a, mp3, mp4, ogg, opus, pdf, png, svg, wav, webm, webp';
  const badPath = 'a media path may contain only letters, digits, dots, hyphens and underscores';
  testPaths(valid, {
    'content/media/kb/setup.exe': `".exe" is not a media type (use ${types})`,
    'content/media/kb/page.html': `".html" is not a media type (use ${types})`,
    'content/media/kb/photo.PNG': '".PNG" is not a media type (rename it to "photo.png")',
    'content/media/kb/photo': `"" is not a media type (use ${types})`,
    'content/media/kb/Photo_1.JPEG': '".JPEG" is not a media type (rename it to "Photo_1.jpeg")',
    'content/media/kb/Bild 1.png': `${badPath} (rename it to "bild-1.png")`,
    'content/media/kb/Bild 1.PNG': `${badPath} (rename it to "bild-1.png")`,
    'content/media/kb/größe 2.0.png': `${badPath} (rename it to "groesse-2-0.png")`,
    'content/media/Meine Bilder/a.png': `${badPath} (rename the folder)`,
    'content/media/kb/日本.png': badPath,
  });

  testProjects({
    'it has a line break': [
      { 'content/media/kb/new\nline.svg': mediaSamples['svg'] },
      `content/media/kb/new\\u000aline.svg:1:1  ${badPath} (rename it to "new-line.svg")`,
    ],
    'it differs from another only in case': [
      {
        'content/media/kb/Plan.svg': mediaSamples['svg'],
        'content/media/kb/plan.svg': 'x',
        'content/knowledgebase/vps/plan.md': guide('Plan', '![The plan](/media/kb/Plan.svg)\n'),
      },
      'content/media/kb/plan.svg:1:1  the path differs from content/media/kb/Plan.svg only in case or Unicode form ' +
        '(rename one of the two)',
    ],
  });
});

test('a name that is not UTF-8 is refused, also that of a folder', async () => {
  const root = createProject();
  for (const name of ['media/kb/caf\xE9', 'blog/news/caf\xE9.md', 'media/caf\xE9.svg']) {
    const path = Buffer.from(join(root, 'content', name), 'latin1');
    if (name.includes('.')) writeFileSync(path, valid);
    else mkdirSync(path, { recursive: true });
  }
  expect(await problemsOf(root)).toEqual(
    ['blog/news/caf\uFFFD.md', 'media/caf\uFFFD.svg', 'media/kb/caf\uFFFD'].map(
      (name) => `content/${name}:1:1  the name is not valid UTF-8 (rename it)`,
    ),
  );
});

test('the path of the folder of content may contain any character', async () => {
  const root = createProject({}, join(temporaryFolder(), 'a\\b {c} [d] *!(e)'));
  expect(await problemsOf(root)).toEqual([]);
});

describe('a path that is not a regular file', () => {
  const link = 'symbolic links are not followed (replace it with a copy of the file)';

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
      expect(await problemsOf(root)).toEqual([`${path}:1:1  not a regular file (replace it with a copy of the file)`]);
    },
  );

  test('may be a folder with the name of an article', async () => {
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

describe('files of editors and file managers are ignored:', () => {
  const names = (
    '#x.md# x.md~ 4913 x.md.tmp x.md.orig Thumbs.db desktop.ini ~$x.docx sedX1y2Z3 Desktop.ini ehthumbs.db ' +
    'x.md.sb-8c1cd9ba-AbCdEf x.md.kQvRtZ x.md___jb_tmp___ x.md___jb_old___ x.md~RF1a2b3c4.TMP x.md.tmp-123 ' +
    'rack.png.crdownload rack.png.part'
  ).split(' ');
  const folders = ['content', 'content/blog/news', 'content/media/kb', 'catalog/games'];
  const files = folders.flatMap((folder) => names.map((name) => [`${folder}/${name}`, 'x'] as const));
  testProjects({ 'they stop nothing': [Object.fromEntries(files)] });
});

describe('a file is a warning if', () => {
  const left = 'warning: this file is a backup that an editor or merge tool left (delete it)';
  testPaths('x', {
    'content/blog/news/first.md.bak': left,
    'content/knowledgebase/vps/x.md.rej': left,
    'content/media/kb/x.png.save': left,
    'catalog/games/rust.yaml.old': left,
  });
  const windows = 'warning: Windows cannot have a file of this name (rename it)';
  testProjects({
    'Windows cannot have its name': [
      { 'content/knowledgebase/vps/aux.md': valid.replace(/date:[^]*(?=---)/, '') },
      `content/knowledgebase/vps/aux.md:1:1  ${windows}`,
    ],
    'Windows cannot have its folder': [
      { 'content/blog/con/a.md': article({}, 'Text.\n') },
      `content/blog/con/a.md:1:1  ${windows}`,
    ],
    'but not if its name only begins so': [{ 'content/blog/console/auxiliary.md': valid }],
  });
});

describe('a refused file is one problem, and so are links to it and to its pictures:', () => {
  const page = 'content/knowledgebase/vps/page.md';
  const linked = {
    'content/knowledgebase/dns/links.md': guide('Links', '[a](../vps/page.md#x) [b](/knowledgebase/vps/page)\n'),
    'content/media/kb/only.svg': mediaSamples['svg'],
  };
  const text = guide('Page', '![Only](/media/kb/only.svg)\n');
  const large = (picture: string): Files => ({ ...linked, [page]: `${text}${picture}${'x'.repeat(600_000)}` });
  const size = (hint: string): string =>
    `${page}:1:1  the file has 600089 bytes, more than the limit of 524288 (${hint})`;
  testProjects({
    'an article that is too large': [large(' '.repeat(11)), size('split it up')],
    'an article with a pasted picture': [
      large('data:image/'),
      size('save its pictures, which are data: addresses, in content/media/'),
    ],
    'an article with a wrong name': [
      { ...linked, 'content/knowledgebase/vps/Page.md': text },
      `content/knowledgebase/vps/Page.md:1:1  "Page" ${slug} (rename it to "page.md")`,
    ],
    'a category with a wrong name': [
      {
        'content/knowledgebase/Web Space/page.md': text,
        'content/media/kb/only.svg': mediaSamples['svg'],
        'content/knowledgebase/dns/links.md': guide('Links', '[a](/knowledgebase/web-space/page)\n'),
      },
      `content/knowledgebase/Web Space/page.md:1:1  "Web Space" ${slug} (rename it to "web-space")`,
    ],
    'a picture with a wrong name': [
      {
        'content/media/kb/Only 1.svg': mediaSamples['svg'],
        'content/knowledgebase/dns/links.md': guide(
          'Links',
          '![a](</media/kb/Only 1.svg>) ![b](/media/kb/only-1.svg)\n',
        ),
      },
      'content/media/kb/Only 1.svg:1:1  a media path may contain only letters, digits, dots, hyphens and underscores ' +
        '(rename it to "only-1.svg")',
    ],
    'a picture in the wrong folder': [
      {
        'content/knowledgebase/dns/only.svg': mediaSamples['svg'],
        'content/knowledgebase/dns/links.md': guide('Links', '![a](only.svg)\n'),
      },
      'content/knowledgebase/dns/only.svg:1:1  this file is out of place ' +
        '(images and other files for readers belong in media/)',
    ],
  });

  test('an article that is a link', async () => {
    const root = createProject({ ...linked, 'page.md': text });
    symlinkSync('../../../page.md', join(root, page));
    const link = 'symbolic links are not followed (replace it with a copy of the file)';
    expect(await problemsOf(root)).toEqual([`${page}:1:1  ${link}`]);
  });
});

test.each(['content', 'catalog'])(
  'a folder of sources is refused, also with --allow-empty, if it is missing, or a file (%s)',
  async (folder) => {
    const root = createProject();
    const problem = `${folder}:1:1  the folder does not exist (set CONTENT_DIR and CATALOG_DIR, or use --content and --catalog)`;
    const errors = async () =>
      (await problemsOf(root, { allowEmpty: true })).filter((line) => !line.includes('warning'));
    rmSync(join(root, folder), { recursive: true });
    expect(await errors()).toEqual([problem]);
    writeFileSync(join(root, folder), 'name: Web\n');
    expect(await errors()).toEqual([problem]);
  },
);

const broken = 'content/blog/news/broken.md';

/** Creates ten valid lines, followed by bytes. */
const withBytes = (...bytes: number[]): Files => ({
  [broken]: Buffer.concat([Buffer.from(article({}, 'Text.\n\n')), Buffer.from(bytes)]),
});

describe('a text is refused with its line if', () => {
  const latin = `${broken}:11:1  the text is not valid UTF-8 (save the file as UTF-8)`;
  const utf16 = `${broken}:1:1  the text is not valid UTF-8 (the file looks like UTF-16; save it as UTF-8)`;
  const nul = 'the text contains a NUL character (remove it)';

  testProjects({
    'a byte is Latin-1': [withBytes(0x53, 0x63, 0x68, 0xf6, 0x6e), latin],
    'a character is cut off at the end': [withBytes(0xe2, 0x82), latin],
    'a character is half of a surrogate pair': [withBytes(0xed, 0xa0, 0x80, 0x0a), latin],
    'a character has an overlong encoding': [withBytes(0xc0, 0xaf, 0x0a), latin],
    'two lines are invalid; the first is reported': [withBytes(0xf6, 0x0a, 0xf6), latin],
    'a byte is Latin-1, in a file with old Mac line ends': [
      { [broken]: Buffer.from(article({}, 'Text.\n\n\xF6\n').replaceAll('\n', '\r'), 'latin1') },
      latin,
    ],
    'the text is little-endian UTF-16': [{ [broken]: Buffer.from(`\uFEFF${valid}`, 'utf16le') }, utf16],
    'the text is big-endian UTF-16': [{ [broken]: Buffer.from(`\uFEFF${valid}`, 'utf16le').swap16() }, utf16],
    'the text contains a NUL': [{ [broken]: article({}, 'Text.\n\nTe\0xt.\n') }, `${broken}:11:3  ${nul}`],
    'the front matter contains a NUL': [{ [broken]: article({ title: 'A\0B' }, 'Text.\n') }, `${broken}:2:9  ${nul}`],
    'a YAML file has invalid bytes': [
      {
        'catalog/domains.yaml': 'tlds: {}\n# \0\n',
        'catalog/services/web.yaml': Buffer.from('# Preise\nname: M\xFCller\n', 'latin1'),
        'content/blog/news/category.yaml': Buffer.from('name: M\xFCller\n', 'latin1'),
      },
      `catalog/domains.yaml:2:3  ${nul}`,
      latin.replace(`${broken}:11`, 'catalog/services/web.yaml:2'),
      latin.replace(`${broken}:11`, 'content/blog/news/category.yaml:1'),
    ],
  });
});
