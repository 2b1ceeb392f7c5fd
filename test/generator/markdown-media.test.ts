import { describe, expect, test } from 'vitest';
import { mediaSamples } from '../helpers/media.ts';
import { createProject, guide } from '../helpers/project.ts';
import { problemsOf, testProblems } from './problems.ts';
import { publish, testHtml } from './render.ts';

const files = {
  'content/media/films/tour.mp4': mediaSamples['mp4'],
  'content/media/films/tour.webm': mediaSamples['webm'],
  'content/media/films/tour.png': mediaSamples['png'],
  'content/media/sounds/beep.mp3': mediaSamples['mp3'],
};

describe('raw HTML keeps', () => {
  testHtml(
    {
      '<figure>\n\n![A tour](/media/films/tour.png)\n\n<figcaption>The *hall*</figcaption>\n</figure>\n':
        '<figure>\n<p><img src="/media/films/tour.png" alt="A tour" width="12" height="8" loading="lazy" decoding="async"></p>\n' +
        '<figcaption>The *hall*</figcaption>\n</figure>',
      'A <mark>new</mark> <abbr title="Domain Name System" class="x">DNS</abbr>.\n':
        '<p>A <mark>new</mark> <abbr title="Domain Name System">DNS</abbr>.</p>',
      '<video src="../../media/films/tour.mp4#t=10,20" poster="/media/films/tour.png" width="640" autoplay muted></video>\n':
        '<p><video src="/media/films/tour.mp4#t=10,20" poster="/media/films/tour.png" width="640" controls></video></p>',
      ['<video>\n<source src="/media/films/tour.webm" type="video/webm">\n<source src="https://example.com/a.mp4">' +
      '\n<source src="/media/films/tour.mp4" type="video/mp4">\n<a href="/media/films/tour.mp4">Download</a></video>\n']:
        '<video controls>\n<source src="/media/films/tour.webm" type="video/webm">\n\n' +
        '<source src="/media/films/tour.mp4" type="video/mp4">\n<a href="/media/films/tour.mp4">Download</a></video>',
      '<audio src="/media/sounds/beep.mp3"></audio>\n': '<p><audio src="/media/sounds/beep.mp3" controls></audio></p>',
    },
    { files },
  );
});

test('a video and its text are removed if it plays no own file', async () => {
  const text = 'One.\n\n<video src="https://example.com/a.mp4">Your browser is old.</video>\n\nTwo.\n';
  expect((await publish(text)).html).toBe('<p>One.</p>\n<p></p>\n<p>Two.</p>');
});

/** An article that uses all media above. */
const withMedia = (markdown: string): string =>
  guide(
    'Uses',
    `${markdown}\n\n${Object.keys(files)
      .map((path) => `[x](${path.replace('content', '')})\n`)
      .join('')}`,
  );

describe('a wrong use of media is reported:', () => {
  testProblems(
    'content/knowledgebase/vps/uses-#.md',
    withMedia,
    {
      '<video src="/media/films/tuor.mp4"></video>':
        '6:1  there is no /media/films/tuor.mp4 in content/ (did you mean "/media/films/tour.mp4"?)',
      '<video><source src="/media/films/tuor.webm"></video>':
        '6:8  there is no /media/films/tuor.webm in content/ (did you mean "/media/films/tour.webm"?)',
      '<video src="/media/films/tour.mp4" poster="/media/none.png"></video>':
        '6:1  there is no /media/none.png in content/',
      '<video src="/media/films/tour.png"></video>':
        '6:1  /media/films/tour.png is neither a video nor a sound (write ![what it shows](/media/films/tour.png))',
      '![A tour](/media/films/tour.mp4)':
        '6:1  /media/films/tour.mp4 is not a picture (write <video src="/media/films/tour.mp4"></video>)',
      '![A beep](/media/sounds/beep.mp3)':
        '6:1  /media/sounds/beep.mp3 is not a picture (write <audio src="/media/sounds/beep.mp3"></audio>)',
      '<audio controls></audio>':
        '6:1  warning: <audio> is removed with all that is in it: it plays no file of content/media/ (save the file there)',
      '<video src="/media/films/tour.mp4"><source src="//example.com/a.mp4"></video>':
        '6:49  warning: "//example.com/a.mp4" is removed (save the file in content/media/)',
      '<video poster="https://example.com/a.png" src="/media/films/tour.mp4"></video>':
        '6:16  warning: "https://example.com/a.png" is removed (save the file in content/media/)',
      '<video src="/media/films/tour.mp4">':
        '6:1  warning: <video> is never closed: all text after it is hidden (write </video> where it ends)',
    },
    files,
  );
});

test('own players, figures, marks and abbreviations are no problem, and use their media', async () => {
  const body =
    '<figure>\n<video poster="../../media/films/tour.png">\n<source src="../../media/films/tour.webm">\n' +
    '<source src="/media/films/tour.mp4" type="video/mp4">\n</video>\n<figcaption>x</figcaption>\n</figure>\n\n' +
    '<audio src="/media/sounds/beep.mp3"></audio> <mark>x</mark> <abbr title="x">y</abbr>\n';
  const root = createProject({ ...files, 'content/knowledgebase/vps/uses.md': guide('Uses', body) });
  expect(await problemsOf(root)).toEqual([]);
});
