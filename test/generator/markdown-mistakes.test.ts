import { describe, expect, test } from 'vitest';
import { article, buildProject, createProject, writeFiles } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

/** A text and its problems; the text begins in line 9 of the file. */
type Row = readonly [name: string, markdown: string, problems: readonly string[]];

const conflict =
  'a merge conflict is not resolved (keep one of the two texts and delete the lines with <<<<<<<, ======= and >>>>>>>)';

const mistakes: readonly Row[] = [
  ['a merge conflict', 'One.\n\n<<<<<<< HEAD\nTwo.\n=======\nThree.\n>>>>>>> other\n', [`11:1  ${conflict}`]],
  [
    'two merge conflicts',
    '<<<<<<< a\n=======\n>>>>>>> b\n\nOne.\n\n<<<<<<< a\n# Two\n=======\n>>>>>>> b\n',
    [`9:1  ${conflict}`, `15:1  ${conflict}`],
  ],
  ['the rest of a merge conflict', 'One.\n=======\nTwo.\n\n>>>>>>> other\n', [`13:1  ${conflict}`]],
  [
    'details that are not closed',
    'One.\n\n<details>\n<summary>Two</summary>\n\nThree.\n',
    ['11:1  warning: <details> is never closed: all text after it is hidden (write </details> where it ends)'],
  ],
  [
    'nested details of which one is not closed',
    '<details>\n\n<details>\n\nOne.\n\n</details>\n',
    ['9:1  warning: <details> is never closed: all text after it is hidden (write </details> where it ends)'],
  ],
  [
    'a mistyped end tag',
    '- x\n\n  <details>\n\n  One.\n\n  </detials>\n',
    ['11:3  warning: <details> is never closed: all text after it is hidden (write </details> where it ends)'],
  ],
  [
    'a comment that is not closed',
    'One.\n\n<!-- Two.\n\nThree.\n',
    ['11:1  warning: the comment is never closed: all text after it is hidden (write --> where it ends)'],
  ],
  [
    'a removed element that is not closed',
    'The <title> of a page.\n\n> <select>\n\n`</select>`\n',
    [
      '9:5  warning: <title> is never closed: it is removed with the text after it (write `<title>` in backticks to show it, else delete it)',
      '11:3  warning: <select> is never closed: it is removed with the text after it (write `<select>` in backticks to show it, else delete it)',
    ],
  ],
  [
    'an element that is not closed',
    'One <b>two.\n\nThree.\n',
    ['9:5  warning: <b> is never closed: it also applies to the text after it (write </b> where it ends)'],
  ],
  [
    'a code block that is not closed',
    'One.\n\n```sh\nls\n\nTwo.\n',
    ['11:1  warning: the code block is never closed: all text after it is code (end it with a line of ```)'],
  ],
  [
    'a code block of tildes that is not closed',
    '> ~~~~\n> ls\n> ~~~\n\nTwo.\n',
    ['9:3  warning: the code block is never closed: all text after it is code (end it with a line of ~~~~)'],
  ],
  [
    'a code block that begins within another',
    '```sh\nls\n\nOne.\n\n```sh\nls\n```\n',
    ['14:1  warning: a code block begins within another (end the first one with a line of ``` above this line)'],
  ],
  [
    'an iframe',
    'One.\n\n<iframe src="https://www.example.com/v"></iframe>\n',
    ['11:1  warning: <iframe> is removed with all that is in it (write a link: [text](https://www.example.com/v))'],
  ],
  [
    'a script',
    'One.\n\n<script>\nalert("<b>")\n</script>\n',
    ['11:1  warning: <script> is removed with all that is in it (delete it: articles are text and pictures)'],
  ],
  [
    'a video of another host',
    'One.\n\n> <div>\n>  <video><source src="https://www.example.com/v.mp4"></video>\n> </div>\n',
    [
      '12:4  warning: <video> is removed with all that is in it: it plays no file of content/media/ ' +
        '(save the file there, or write a link: [text](https://www.example.com/v.mp4))',
    ],
  ],
  [
    'a drawing',
    'One <svg><path d="M0"/></svg>.\n',
    [
      '9:5  warning: <svg> is removed with all that is in it (save it in content/media/ and write ![what it shows](/media/...))',
    ],
  ],
  [
    'a placeholder',
    'Run *ssh root@<your-ip>* now.\n',
    [
      '9:15  warning: <your-ip> is taken for HTML and removed (write `<your-ip>` in backticks to show it, else delete it)',
    ],
  ],
  [
    'PHP code',
    'Write <?php echo 1; ?> here.\n',
    ['9:7  warning: "<?" is taken for HTML and removed up to ">" (write it in backticks)'],
  ],
  ['an unknown alert', 'One.\n\n> [!INFO]\n> Two.\n', ['11:3  warning: there is no alert [!INFO] (write [!NOTE])']],
  [
    'a mistyped alert',
    '- > [!warnign]\n  > Two.\n',
    ['9:5  warning: there is no alert [!warnign] (did you mean "warning"?)'],
  ],
  [
    'an alert of an unknown kind',
    '> [!FOO]\n> Two.\n',
    ['9:3  warning: there is no alert [!FOO] (write [!NOTE], [!TIP], [!IMPORTANT], [!WARNING] or [!CAUTION])'],
  ],
  [
    'an alert with text on its first line',
    '> [!NOTE] Two.\n> Three.\n',
    [
      '9:11  warning: after [!NOTE] the line must end, else this is a plain quote (begin the text on the next line, after >)',
    ],
  ],
  [
    'an alert without a quote',
    'One.\n\n[!NOTE]\nTwo.\n',
    ['11:1  warning: [!NOTE] is not in a quote (begin this line and the lines of its text with >)'],
  ],
  [
    'a Hugo shortcode',
    'One {{< figure src="x" >}}\n\n{{<note>}}\n\n{{% note %}}\n',
    [
      '9:5  warning: "{{<" is shown as it is: templates do not work here (write Markdown instead)',
      '11:1  warning: "{{<" is shown as it is: templates do not work here (write Markdown instead)',
      '13:1  warning: "{{%" is shown as it is: templates do not work here (write Markdown instead)',
    ],
  ],
  [
    'a directive',
    'One.\n\n::: tip\nTwo.\n:::\n',
    [
      '11:1  warning: ":::" is shown as it is: directives do not work here (write "> [!TIP]" and begin the lines of the box with >)',
    ],
  ],
  [
    'a table without a delimiter row',
    'One.\n\n| a | b |\n| 1 | 2 |\n| 3 | 4 |\n',
    ['12:1  warning: below the heads of a table must be a line of dashes (add the line |---|---| here)'],
  ],
  [
    'a table with too few dashes',
    '| a | b |\n|---|\n| 1 | 2 |\n',
    ['10:1  warning: this line must have dashes for each of the heads above it, with | between them (write |---|---|)'],
  ],
  [
    'marked lines that the code does not have',
    'One.\n\n```js title="a b" {1,4-6}\nx\ny\n```\n',
    ['11:22  warning: line 6 is marked, but the code block ends with line 2 (count from the first line of the code)'],
  ],
  [
    'marked lines that are no lines',
    '```js {3-1,0, 1-x}\nx\ny\nz\n```\n',
    ['3-1:8', '0:12', '1-x:15'].map((place) => {
      const [text, column] = place.split(':');
      return `9:${column}  warning: "${text}" is not a range of lines (write numbers from 1, as in {2,4-6})`;
    }),
  ],
  [
    'marked lines without a closing brace',
    '> ```js {1,2\n> x\n> y\n> ```\n',
    ['9:9  warning: the line numbers have no closing brace (write {1,2})'],
  ],
  [
    'a title without a closing quote',
    '```js title="server.js\nx\n```\n',
    ['9:7  warning: the title of the code block has no closing quote (write title="...")'],
  ],
  [
    'a title without a code language',
    '```title="x"\nx\n```\n',
    ['9:4  warning: the code language "title="x"" is not known (write a language before it, such as "text")'],
  ],
  [
    'an unknown code language',
    '```bahs\nls\n```\n',
    ['9:4  warning: the code language "bahs" is not known (did you mean "bash"?)'],
  ],
  [
    'a code language with a list of lines',
    '- ~~~ js{1,3}\n  x\n  ~~~\n',
    ['9:7  warning: the code language "js{1,3}" is not known (write "js {1,3}")'],
  ],
  [
    'a table as databases print it',
    'One.\n\n> | a | b |\n> |---+---|\n> | 1 | 2 |\n',
    ['12:3  warning: this line must have dashes for each of the heads above it, with | between them (write |---|---|)'],
  ],
  [
    'a table without pipes at the end of its lines',
    '| a | b\n|---+---\n| 1 | 2\n',
    ['10:1  warning: this line must have dashes for each of the heads above it, with | between them (write |---|---|)'],
  ],
  [
    'no code language at all',
    '```qqq\nls\n```\n',
    ['9:4  warning: the code language "qqq" is not known (write "text" for a block without colours)'],
  ],
  [
    'an undefined reference',
    'One\n[two][three] and *four* [five][].\n',
    [
      '10:1  warning: "[two][three]" is no link: nothing defines [three] (write [text](address), or add a line "[three]: address")',
      '10:25  warning: "[five][]" is no link: nothing defines [five] (write [text](address), or add a line "[five]: address")',
    ],
  ],
  [
    'an undefined picture',
    '![One][two]\n',
    [
      '9:1  warning: "![One][two]" is no picture: nothing defines [two] (write ![text](address), or add a line "[two]: address")',
    ],
  ],
  ['an undefined footnote', 'One.[^1]\n', ['9:5  warning: there is no footnote [^1] (add a line "[^1]: its text")']],
  [
    'a space within a link',
    'See [one] (https://www.example.com).\n',
    ['9:10  warning: "[one] (...)" is no link (delete the space before the parenthesis)'],
  ],
  [
    'a space within an address',
    '![One](/media/kb/map 1.svg)\n',
    ['9:8  warning: "[One](...)" is no link (write %20 for each space in the address)'],
  ],
  ['a heading without a space', 'One.\n\n##Two\n', ['11:3  warning: "##Two" is no heading (write a space after ##)']],
  [
    'a heading with a no-break space',
    'One.\n##\u00a0Two\n',
    ['10:3  warning: "##\u00a0Two" is no heading (write a normal space after ##)'],
  ],
  [
    'a heading of level 1',
    'One.\n\n# Two\n',
    ['11:1  warning: the title is the only heading of level 1 (begin with ##)'],
  ],
  [
    'an underlined heading of level 1',
    'One.\n\nTwo\n===\n',
    ['11:1  warning: the title is the only heading of level 1 (underline it with ---)'],
  ],
  [
    'a heading of level 1 in HTML',
    '<h1>One</h1>\n',
    ['9:1  warning: the title is the only heading of level 1 (write <h2>)'],
  ],
  [
    'a skipped level',
    '## One\n\n#### Two\n',
    ['11:1  warning: the level of this heading is 4, after a heading of level 2 (write ### Two)'],
  ],
  [
    'a first heading of level 3',
    'One.\n\n### Two\n',
    ['11:1  warning: the level of the first heading is 3 (write ## Two)'],
  ],
  [
    'a picture without a description',
    'One ![](/media/kb/map.svg)\n',
    ['9:5  warning: the picture has no description (write what it shows: ![text](/media/kb/map.svg))'],
  ],
  [
    'a picture without a description in HTML',
    '<p>\n<img src="/media/kb/map.svg"></p>\n',
    ['10:1  warning: the picture has no description (add alt="what it shows", or alt="" if it shows nothing)'],
  ],
  [
    'a link to a mistyped folder',
    'One [two](/knowledgbase/vps/ssh).\n',
    ['9:11  warning: there is no folder /knowledgbase/ in content/ (did you mean "/knowledgebase/vps/ssh"?)'],
  ],
  [
    'a link to the folder of another site',
    '[two]: /kb/vps/ssh\n\n[two] and <a href="/Blog/news/first">x</a>\n',
    [
      '9:8  warning: there is no folder /kb/ in content/ (did you mean "/knowledgebase/vps/ssh"?)',
      '11:20  warning: there is no folder /Blog/ in content/ (did you mean "/blog/news/first"?)',
    ],
  ],
  [
    'a link with a mistyped scheme',
    '[x](htp://www.example.com)\n',
    ['9:5  warning: links with "htp:" are removed (did you mean "http://www.example.com"?)'],
  ],
  [
    'a link with another scheme',
    '[x](tel:+31101234567)\n',
    ['9:5  warning: links with "tel:" are removed (write the address as text)'],
  ],
  [
    'a host and port without a scheme',
    '[x](localhost:3000/x)\n',
    ['9:5  warning: links with "localhost:" are removed (did you mean "http://localhost:3000/x"?)'],
  ],
  [
    'a link with a missing slash',
    '[x](https:/www.example.com/x)\n',
    ['9:5  warning: the link "https:/www.example.com/x" has no host (did you mean "https://www.example.com/x"?)'],
  ],
  [
    'a link with two schemes',
    '[x](https://https://www.example.com/x)\n',
    [
      '9:5  warning: the link "https://https://www.example.com/x" has two schemes (did you mean "https://www.example.com/x"?)',
    ],
  ],
  ['an empty link', 'One [two]().\n', ['9:11  warning: the link has no address (write it between the parentheses)']],
  ['an empty picture', '![two](<>)\n', ['9:1  the picture has no address (write it between the parentheses)']],
  [
    'a link to www',
    'One [two](www.example.com/x).\n',
    ['9:5  the link "www.example.com/x" has no scheme (write https://www.example.com/x)'],
  ],
  [
    'an embedded picture',
    '![two](data:image/png;base64,AAAA)\n',
    ['9:8  warning: pictures with "data:" are removed (save the picture in content/media/)'],
  ],
];

const harmless: readonly (readonly [name: string, markdown: string])[] = [
  ['a merge conflict in a code block', '```text\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other\n```\n'],
  ['an underlined heading', 'One\n---\n'],
  ['a level after a heading in HTML', '<h2 id="x">One</h2>\n\n### Two\n'],
  ['indexes of lists', "Set $cfg['db']['host'] and f(x)[0][1] first.\n"],
  ['a class of characters', 'Only [^a-z] is allowed.\n'],
  ['a link with the text of an alert', '[!TIP](https://www.example.com) is a link.\n'],
  ['nested quotes', '> > > > > > > One\n>>>>>>> two\n'],
  ['details', '<details>\n<summary>One</summary>\n\nTwo.\n\n</details>\n'],
  ['an end tag in the same line', 'Press <kbd>Ctrl</kbd> <b>now</b><br>or<br/>later.\n'],
  ['HTML with optional end tags', '<ul><li>One<li>Two</ul>\n<p>Three\n\n<table><tr><td>One<td>Two</table>\n'],
  ['a comment', 'One <!-- <iframe> --> two.\n\n<!-- <details>\n\n<script> -->\n'],
  ['an attribute with a tag', '<img src="/media/kb/map.svg" alt="<your-ip> > 1">\n'],
  ['an anchor', '<a name="x"/>One\n'],
  ['code with tags', 'Use `<iframe>` and \\<b> and &lt;x&gt;.\n\n    <script>\n\n```html\n<script>\n```\n'],
  ['an address in angle brackets', '<https://www.example.com> <a@example.com>\n'],
  ['longer fences', '````md\n```sh\nls\n```\n````\n\n- ```\n  ls\n  ```\n\n> ~~~\n> ```sh\n> ~~~\n'],
  ['alerts', '> [!NOTE]\n> One.\n\n> [!tip]\n>\n> Two.\n\n> \\[!INFO] three\n'],
  ['a template in code', 'Write `{{< x >}}` and {{ y }}.\n\n```text\n{{< x >}}\n:::\n```\n'],
  ['colons', 'One::: two\n\nfe80:::1\n'],
  ['tables', '| a | b |\n|---|---|\n| 1 | 2 |\n\na | b\n- | -\n1 | 2\n'],
  ['pipes', 'a | b\nc | d\n\n|x| is positive\n|y| is not\n'],
  [
    'code languages',
    '```sh\n```\n\n```yml\n```\n\n```text\n```\n\n```C++\n```\n\n```output\n```\n\n```haskell\n```\n\n```tree\n```\n\n```\n```\n',
  ],
  ['brackets', 'a[0][1], [x], [ ] y, \\[a][b], `[a][b]`.\n\n- [ ] todo\n'],
  ['references', '[a][b], [b][], [b] and ![a][b] One.[^1]\n\n[b]: https://www.example.com\n[^1]: Two.\n'],
  ['numbers and hashtags', '#1 choice\n#hosting\n\n\\##x\n'],
  ['headings', '## One\n\n### Two\n\n#### Three\n\n## Four\n'],
  ['a decorative picture', '<img src="/media/kb/map.svg" alt="">\n'],
  [
    'links',
    '[x](/pricing) [x](/bot/x) [x](//www.example.com) [x](#) [x](https://www.example.com) [x](mailto:a@b.c) www.example.com\n',
  ],
];

/** The problems of each text, from one check of all, since a check for each takes most of a minute. */
async function problemsOfEach(markdowns: readonly string[]): Promise<string[][]> {
  const name = (index: number): string => `content/blog/news/page-${index}.md`;
  const problems = await problemsOf(
    createProject(Object.fromEntries(markdowns.map((markdown, index) => [name(index), article({}, markdown)]))),
  );
  return markdowns.map((_, index) =>
    problems
      .filter((problem) => problem.startsWith(`${name(index)}:`))
      .map((text) => text.slice(name(index).length + 1)),
  );
}

describe('a mistake in the text is reported at its line and column:', () => {
  let found: Promise<string[][]> | undefined;
  test.each(mistakes.map(([name, , problems], index) => ({ name, index, problems })))(
    '$name',
    async ({ index, problems }) => {
      found ??= problemsOfEach(mistakes.map(([, markdown]) => markdown));
      expect((await found)[index]).toEqual(problems);
    },
  );
});

describe('nothing is reported for', () => {
  let found: Promise<string[][]> | undefined;
  test.each(harmless.map(([name], index) => ({ name, index })))('$name', async ({ index }) => {
    found ??= problemsOfEach(harmless.map(([, markdown]) => markdown));
    expect((await found)[index]).toEqual([]);
  });
});

test('mistakes in drafts, scheduled and broken articles are reported, and in cached articles again', async () => {
  const names = ['published', 'draft', 'scheduled', 'broken'];
  const fields = [{}, { draft: 'true' }, { date: '2027-01-01' }, { date: 'soon' }];
  const text = 'One.\n\n<<<<<<< HEAD\nTwo.\n=======\n>>>>>>> other\n';
  const files = Object.fromEntries(
    names.map((name, index) => [`content/blog/news/${name}.md`, article(fields[index]!, text)]),
  );
  expect((await problemsOf(createProject(files))).filter((line) => line.includes('merge conflict'))).toEqual(
    names.toSorted().map((name) => `content/blog/news/${name}.md:${name === 'draft' ? 12 : 11}:1  ${conflict}`),
  );

  const root = createProject({ 'content/blog/news/page.md': article({}, 'One.\n\n# Two\n') });
  const builds = [];
  // The third build finds the article in the cache, since only another article changed.
  for (const other of [undefined, undefined, article({}, 'Changed.\n')]) {
    writeFiles(root, { 'content/blog/news/first.md': other });
    // oxlint-disable-next-line no-await-in-loop -- One build after the other.
    builds.push((await buildProject(root, { noCache: false, lenient: true })).diagnostics);
  }
  expect(builds[0]).toMatchObject([{ severity: 'warning', line: 11, column: 1 }]);
  expect(builds[1]).toEqual(builds[0]);
  expect(builds[2]).toContainEqual(builds[0]![0]);
});

test('in a strict build mistakes are errors', async () => {
  const root = createProject({ 'content/blog/news/page.md': article({}, '# One\n') });
  const { release, diagnostics } = await buildProject(root, { strict: true });
  expect(release).toBeUndefined();
  expect(diagnostics).toMatchObject([{ severity: 'error', line: 9, column: 1 }]);
});
