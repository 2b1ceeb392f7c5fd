import { describe, expect, test } from 'vitest';
import { article, createProject, guide, siteUrls, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { problemsOf, testProjects, testTexts } from './tables.ts';

const conflict =
  'unresolved merge conflict (keep one of the two texts, and delete the lines with <<<<<<<, ======= and >>>>>>>)';

describe('an article that takes too long to render is refused:', () => {
  const nested = 'lists or quotes are nested more than 100 levels deep (flatten them)';
  const rows: [name: string, markdown: string, problem: string][] = [
    ['101 nested lists', `${'- '.repeat(101)}x\n`, `6:1  ${nested}`],
    ['101 nested quotes below a text', `Text.\n\n${'>'.repeat(101)} x\n`, `8:1  ${nested}`],
    [
      '101 nested quotes below a code block',
      `\`\`\`text\n${'>'.repeat(200)}\n\`\`\`\n${'>'.repeat(101)} x\n`,
      `9:1  ${nested}`,
    ],
    ['10,000 nested elements', `${'<div>'.repeat(10_000)}x\n`, '6:1  the article is nested too deeply (flatten it)'],
    [
      '60,001 lines',
      'a\n'.repeat(60_001),
      '6:1  the article has 60001 lines and marks of Markdown, more than the limit of 60000 (split it up)',
    ],
    [
      'a table of 10,100 cells',
      `Text.\n\n${'|a'.repeat(101)}|\n${'|-'.repeat(101)}|\n${'|a\n'.repeat(99)}`,
      '8:1  the table has 10100 cells, more than the limit of 10000 (split it up)',
    ],
    ['2 MB', 'Text.\n'.repeat(350_000), '1:1  the file has 2100047 bytes, more than the limit of 524288 (split it up)'],
  ];
  const file = 'content/knowledgebase/vps/large.md';
  testProjects(
    Object.fromEntries(
      rows.map(([name, markdown, problem]) => [name, [{ [file]: guide('A', markdown) }, `${file}:${problem}`]]),
    ),
  );
});

describe('a mistake in the text is reported at its line and column:', () => {
  testTexts({
    'One.\n\n<<<<<<< HEAD\nTwo.\n=======\nThree.\n>>>>>>> other\n': `11:1  ${conflict}`,
    '<<<<<<< a\n=======\n>>>>>>> b\n\nOne.\n\n<<<<<<< a\n# Two\n=======\n>>>>>>> b\n': [
      `9:1  ${conflict}`,
      `15:1  ${conflict}`,
    ],
    'One.\n\n<details>\n<summary>Two</summary>\n\nThree.\n':
      '11:1  warning: <details> is not closed: all following text is hidden (write </details> at the end)',
    '<details>\n\n<details>\n\nOne.\n\n</details>\n':
      '9:1  warning: <details> is not closed: all following text is hidden (write </details> at the end)',
    '- x\n\n  <details>\n\n  One.\n\n  </detials>\n':
      '11:3  warning: <details> is not closed: all following text is hidden (write </details> at the end)',
    'One.\n\n<!-- Two.\n\nThree.\n':
      '11:1  warning: the comment is not closed: all following text is hidden (write --> at the end)',
    'The <title> of a page.\n':
      '9:5  warning: <title> is not closed: the following text is removed, too (write `<title>` in backticks to show the tag, else delete it)',
    'One.\n\n> <select>\n\n`</select>`\n':
      '11:3  warning: <select> is not closed: the following text is removed, too (write `<select>` in backticks to show the tag, else delete it)',
    'In the <head> of a page.\n':
      '9:8  warning: <head> is parsed as HTML and removed (write `<head>` in backticks to show the tag)',
    'One <b>two.\n\nThree.\n':
      '9:5  warning: <b> is not closed: it also applies to the following text (write </b> at the end)',
    'One.\n\n```sh\nls\n\nTwo.\n':
      '11:1  warning: the code block is not closed: all following text is code (end it with a line of ```)',
    '> ~~~~\n> ls\n> ~~~\n\nTwo.\n':
      '9:3  warning: the code block is not closed: all following text is code (end it with a line of ~~~~)',
    '```sh\nls\n\nOne.\n\n```sh\nls\n```\n':
      '14:1  warning: a code block starts within another code block (end the first code block with a line of ``` above this line)',
    'One.\n\n<iframe src="https://www.example.com/v"></iframe>\n':
      '11:1  warning: <iframe> is removed with its content (write a link: [text](https://www.example.com/v))',
    'One.\n\n<script>\nalert("<b>")\n</script>\n':
      '11:1  warning: <script> is removed with its content (delete the element: articles contain only text and pictures)',
    'One.\n\n> <div>\n>  <video><source src="https://www.example.com/v.mp4"></video>\n> </div>\n':
      '12:2  warning: <video> is removed with its content: it plays no file in content/media/ ' +
      '(save the file there, or write a link: [text](https://www.example.com/v.mp4))',
    'One <svg><path d="M0"/></svg>.\n':
      '9:5  warning: <svg> is removed with its content (save the picture in content/media/ and write ![description](/media/...))',
    'Run *ssh root@<your-ip>* now.\n':
      '9:15  warning: <your-ip> is parsed as HTML and removed (write `<your-ip>` in backticks to show the tag, else delete it)',
    'Write <?php echo 1; ?> here.\n':
      '9:7  warning: "<?" is parsed as HTML and removed up to ">" (write the text in backticks)',
    'One.\n\n> [!INFO]\n> Two.\n': '11:3  warning: there is no alert [!INFO] (write [!NOTE])',
    '- > [!warnign]\n  > Two.\n': '9:5  warning: there is no alert [!warnign] (did you mean "warning"?)',
    '> [!FOO]\n> Two.\n':
      '9:3  warning: there is no alert [!FOO] (write [!NOTE], [!TIP], [!IMPORTANT], [!WARNING] or [!CAUTION])',
    '> [!NOTE] Two.\n> Three.\n':
      '9:11  warning: the line must end after [!NOTE], else this is a plain quote (start the text on the next line, after >)',
    'One {{< figure src="x" >}}\n\n{{<note>}}\n\n{{% note %}}\n': [
      '9:5  warning: "{{<" is shown as plain text: templates are not supported (write Markdown instead)',
      '11:1  warning: "{{" is shown as plain text: templates are not supported (write Markdown instead)',
      '13:1  warning: "{{%" is shown as plain text: templates are not supported (write Markdown instead)',
    ],
    'One.\n\n::: tip\nTwo.\n:::\n':
      '11:1  warning: ":::" is shown as plain text: directives are not supported (write "> [!TIP]" and start the lines of the box with >)',
    'One.\n\n| a | b |\n| 1 | 2 |\n| 3 | 4 |\n':
      '12:1  warning: the header row of a table needs a line of dashes below (add the line |---|---| here)',
    '| a | b |\n|---|\n| 1 | 2 |\n':
      '10:1  warning: this line needs dashes for each header cell above, separated by | (write |---|---|)',
    '```title="x"\nx\n```\n':
      '9:4  warning: unknown code language "title="x"" (write a language first, such as "text")',
    '```bahs\nls\n```\n': '9:4  warning: unknown code language "bahs" (did you mean "bash"?)',
    '- ~~~ js{1,3}\n  x\n  ~~~\n': '9:7  warning: unknown code language "js{1,3}" (write "js {1,3}")',
    'One.\n\n> | a | b |\n> |---+---|\n> | 1 | 2 |\n':
      '12:3  warning: this line needs dashes for each header cell above, separated by | (write |---|---|)',
    '| a | b\n|---+---\n| 1 | 2\n':
      '10:1  warning: this line needs dashes for each header cell above, separated by | (write |---|---|)',
    '```math\nx^2\n```\n': '9:4  warning: unknown code language "math" (it is not rendered: use a picture, or "text")',
    '# A title\n\nText.\n':
      '9:1  warning: only the title may be a heading of level 1 (delete the heading if it repeats the title, else start with ##)',
    'One.\n\n<iframe src="//www.youtube-nocookie.com/embed/a-B_1?start=9" title="x"></iframe>\n':
      '11:1  warning: <iframe> is removed with its content (write a link: [text](https://www.youtube.com/watch?v=a-B_1))',
    '[x](C:\\Users\\me\\x.pdf) [y](file:///home/me/x.pdf)\n': ['5', '28'].map((column) => {
      const scheme = column === '5' ? 'C' : 'file';
      return `9:${column}  warning: links with "${scheme}:" are removed (copy the file to content/media/ and write /media/ and the file name)`;
    }),
    '```qqq\nls\n```\n': '9:4  warning: unknown code language "qqq" (write "text" for a block without highlighting)',
    'One\n[two][three] and *four* [five][].\n': [
      '10:1  warning: "[two][three]" is not a link: [three] is not defined (write [text](address), or add a line "[three]: address")',
      '10:25  warning: "[five][]" is not a link: [five] is not defined (write [text](address), or add a line "[five]: address")',
    ],
    '![One][two]\n':
      '9:1  warning: "![One][two]" is not a picture: [two] is not defined (write ![text](address), or add a line "[two]: address")',
    'One.[^1]\n': '9:5  warning: there is no footnote [^1] (add a line "[^1]: text")',
    'See [one] (https://www.example.com).\n':
      '9:10  warning: "[one] (...)" is not a link (delete the space before the parenthesis)',
    '![One](/media/kb/map.svg =300x200) and [two](/blog “Two”)\n': [
      '9:8  warning: "[One](...)" is not a link (write <img src="/media/kb/map.svg" alt="..." width="300">)',
      '9:46  warning: "[two](...)" is not a link (write " around the title)',
    ],
    '![One](/media/kb/map 1.svg)\n':
      '9:8  warning: "[One](...)" is not a link (write %20 for each space in the address)',
    'One.\n\n##Two\n': '11:1  warning: "##Two" is not a heading (write a space after ##)',
    'One.\n##\u00a0Two\n':
      '10:3  warning: "##" is shown as plain text because of U+00A0 (no-break space) (write a normal space)',
    'One.\n\n# Two\n': '11:1  warning: only the title may be a heading of level 1 (start with ##)',
    'One.\n\nTwo\n===\n': '11:1  warning: only the title may be a heading of level 1 (underline it with ---)',
    '<h1>One</h1>\n': '9:1  warning: only the title may be a heading of level 1 (write <h2>)',
    '## One\n\n#### Two\n': '11:1  warning: heading of level 4 after a heading of level 2 (write ### Two)',
    'One.\n\n### Two\n': '11:1  warning: the first heading has level 3 (write ## Two)',
    'One ![](/media/kb/map.svg)\n':
      '9:5  warning: the picture has no description (describe the picture: ![text](/media/kb/map.svg))',
    '<p>\n<img src="/media/kb/map.svg"></p>\n':
      '10:1  warning: the picture has no description (add alt="description", or alt="" for a decorative picture)',
    'One [two](/knowledgbase/vps/ssh).\n':
      '9:11  warning: there is no folder /knowledgbase/ in content/ (did you mean "/knowledgebase/vps/ssh"?)',
    '[two]: /kb/vps/ssh\n\n[two] and <a href="/Blog/news/first">x</a>\n': [
      '9:8  warning: there is no folder /kb/ in content/ (did you mean "/knowledgebase/vps/ssh"?)',
      '11:11  warning: there is no folder /Blog/ in content/ (did you mean "/blog/news/first"?)',
    ],
    '[x](htp://www.example.com)\n':
      '9:5  warning: links with "htp:" are removed (did you mean "http://www.example.com"?)',
    '[x](tel:+31101234567)\n': '9:5  warning: links with "tel:" are removed (write the address as plain text)',
    '[x](localhost:3000/x)\n':
      '9:5  warning: links with "localhost:" are removed (did you mean "http://localhost:3000/x"?)',
    'One [two]().\n': '9:11  warning: the link has no address (write one between the parentheses)',
    '![two](<>)\n': '9:1  the picture has no address (write it between the parentheses)',
    'One [two](www.example.com/x).\n':
      '9:5  the link "www.example.com/x" has no scheme (write https://www.example.com/x)',
    '![two](data:image/png;base64,AAAA)\n':
      '9:8  warning: pictures with "data:" are removed (save the picture in content/media/)',
  });
});

describe('text that is lost or shown as markup is reported, and the corrected text is not:', () => {
  const rows: Readonly<Record<string, readonly [silent: string, ...problems: string[]]>> = {
    // The parser gives no end to elements that a list or footnote closes.
    'One <b>two[^1]\n\n[^1]: Three <i>four\n': [
      'One <b>two</b>[^1]\n\n[^1]: Three <i>four</i>\n',
      '9:5  warning: <b> is not closed: it also applies to the following text (write </b> at the end)',
      '11:13  warning: <i> is not closed: it also applies to the following text (write </i> at the end)',
    ],
    '<div title=“One”>two</div>\n': [
      '<div title="One">two</div>\n',
      '9:1  warning: curly quotes do not delimit attributes (write " around the value)',
    ],
    'One <b title=“a b”>two</b>\n': [
      'One <b title="a b">two</b>\n',
      '9:5  warning: curly quotes do not delimit attributes (write " around the value)',
    ],
    'One <input type="text"> two.\n': [
      'One\n\n- [ ] two\n',
      '9:5  warning: <input> becomes a checkbox (write "- [ ] text", or delete the tag)',
    ],
    '<details>\n<summary>One</summary>\n- **two**\n\n</details>\n': [
      '<details>\n<summary>One</summary>\n\n- **two**\n\n</details>\n',
      '11:1  warning: this Markdown is shown as plain text: no empty line separates it from <details> (add an empty line above)',
    ],
    '| a | b |\n|---|---|\n| 1 | x | y |\n| 2 | 3 | |\n': [
      '| a | b |\n|---|---|\n| 1 | x \\| y |\n| 2 | 3 | |\n',
      '11:9  warning: this row has 3 cells, but the header row has 2: this cell is not shown (write \\| for a | in a cell, else add a header cell)',
    ],
    '> 1. One\n>   - two\n> 2. Three\n': [
      '> 1. One\n>    - two\n> 2. Three\n',
      '10:5  warning: this list is not part of the item above (indent the list by 3 spaces, or not at all)',
    ],
    '1. One\n  1. two\n  2. three\n2. Four\n': [
      '1. One\n   1. two\n   2. three\n2. Four\n',
      '10:3  warning: this list is not part of the item above (indent the list by 3 spaces, or not at all)',
    ],
    '10. One\n   1. two\n': [
      '10. One\n 11. two\n',
      '10:4  warning: this list is not part of the item above (indent the list by 4 spaces, or not at all)',
    ],
    'One:\n\n• two\n• three\n': [
      'One:\n\n- two\n- three\n',
      '11:1  warning: "•" does not start a list (write "- " at the start of each line)',
    ],
    '-\u00a0One\n-\u00a0two\n': [
      '- One\n- two\n',
      '9:2  warning: "-" is shown as plain text because of U+00A0 (no-break space) (write a normal space)',
    ],
    '**One: two.\n\n**three **\n': [
      '**One**: two.\n\n2 ** 3, a\\*\\*, \\**b and src/**/*.ts\n',
      '9:1  warning: "**" is shown as plain text (write ** directly before the first and after the last letter, or \\*\\* to show it)',
      '11:1  warning: "**" is shown as plain text (write ** directly before the first and after the last letter, or \\*\\* to show it)',
    ],
    'Run `ls now.\n': [
      'Run `ls` now.\n\n<code>`n</code> too.\n\nA \\` too.\n\nAn IList`1 too.\n',
      '9:5  warning: "`" is shown as plain text (write ` where the code ends, or \\` to show it)',
    ],
    '```mermaid\ngraph\n```\n': [
      '```text\ngraph\n```\n',
      '9:4  warning: unknown code language "mermaid" (it is not rendered: use a picture, or "text")',
    ],
    'It is $x^2$ of $\\frac{a}{b}$.\n': [
      'It is `$x^2$`, $5 or $10 in $HOME/$USER.\n',
      '9:7  warning: "$x^2$" is shown as plain text: formulas are not rendered (use backticks or words)',
      '9:16  warning: "$\\frac{a}{b}$" is shown as plain text: formulas are not rendered (use backticks or words)',
    ],
    '!!! warning "One"\n    Two\n': [
      '> [!WARNING]\n> Two\n\n!!! stop\n',
      '9:1  warning: "!!!" is shown as plain text: such boxes are not supported (write "> [!WARNING]" and start the lines of the box with >)',
    ],
    'See [[First steps]], [[page]] or [[x/y|two]].\n': [
      'See [First steps](/pricing), `[[plugins]]`, [[tool.ruff]] and [[ -f x ]].\n\n## [[graphite]]\n',
      '9:5  warning: "[[First steps]]" is not a link (write [First steps](address))',
      '9:22  warning: "[[page]]" is not a link (write [page](address))',
      '9:34  warning: "[[x/y|two]]" is not a link (write [two](address))',
    ],
    '[INFO]: Stopping\n[WARN]: Saving...\n\n[x]: https://www.example.com\n\nOne.\n': [
      '\\[INFO]: Stopping\n\n[WARN] Saving...\n\n[//]: # (a note)\n\n[x]: y.md\n',
      '9:1  warning: this line is not shown: it defines a link [INFO], and nothing refers to it (write \\[INFO]: to show the line)',
      '10:1  warning: this line is not shown: it defines a link [WARN], and nothing refers to it (write \\[WARN]: to show the line)',
    ],
    '> \\[!NOTE]\n> One.\n\n> \\[!info\\]\n> Two.\n': [
      '> [!NOTE]\n> One.\n\n> \\[!x]\n> Two.\n',
      '9:3  warning: because of the backslash, this is a plain quote (write [!NOTE])',
      '12:3  warning: because of the backslash, this is a plain quote (write [!NOTE])',
    ],
    '| a | b |\n|---|---|\n| 1 | 2 |\n**One:** two.\nThree.\n': [
      '| a | b |\n|---|---|\n| 1 | 2 |\n\n**One:** two.\nThree.\n\na | b\n-|-\n1 | 2\n',
      '12:1  warning: this line becomes a row of the table above (add an empty line above)',
    ],
    '<aside>\nOne **two** three.\n</aside>\n\n> <div align="center">\n> # Four\n> </div>\n\n<table><tr><td>\n`five`\n</td></tr></table>\n':
      [
        '<aside>\n\nOne **two** three.\n\n</aside>\n\n<p>\nOne * two * three, <code>**a**</code> #5\n</p>\n\n<pre>\n- six\n</pre>\n',
        '10:5  warning: this Markdown is shown as plain text: no empty line separates it from <aside> (add an empty line above)',
        '14:3  warning: this Markdown is shown as plain text: no empty line separates it from <div> (add an empty line above)',
        '18:1  warning: this Markdown is shown as plain text: no empty line separates it from <table> (add an empty line above)',
      ],
    '<table>\n  <tr>\n\n    <td>One</td>\n  </tr>\n</table>\n': [
      '<table>\n  <tr>\n    <td>One</td>\n  </tr>\n</table>\n\nTwo:\n\n    <td>One</td>\n',
      '12:1  warning: this HTML is shown as code: an empty line ends HTML, and indented text after it is code (delete the empty line above, or the indentation)',
    ],
    'See “https://www.example.com”, https://www.example.com… or (www.example.com。\n': [
      'See “<https://www.example.com>”, “[x](https://www.example.com/a”b)” or https://www.example.com, <https://www.example.com/a…>\n',
      '9:29  warning: "”" is part of the address (write <https://www.example.com>)',
      '9:55  warning: "…" is part of the address (write <https://www.example.com>)',
      '9:76  warning: "。" is part of the address (write <www.example.com>)',
    ],
    '![[map.png]] ==one== {#two} ![x](/media/kb/map.svg){width=300}\n\n[TOC]\n\nThree :rocket: at^[a b]\n\n$$\nx\n$$\n\n%%four%%\n\nfive <!-- six\n\nseven\n':
      [
        'a ==b, c == d == e, `==one==` \\{#two} {x} 12:30:45 a:b:c http://a:b: ^[a-z] 100%% 5%\n\n`[TOC]` costs $$ or %%\n',
        '9:1  warning: "![[map.png]]" is not a picture (write ![text](/media/...))',
        '9:14  warning: "==one==" is shown as plain text: such highlights are not supported (write <mark>text</mark>)',
        '9:22  warning: "{#two}" is shown as plain text: attributes are not supported (delete it: headings have anchors)',
        '9:52  warning: "{width=300}" is shown as plain text: attributes are not supported (write <img src="..." alt="..." width="...">)',
        '11:1  warning: "[TOC]" is shown as plain text: tables of contents are not supported (delete the line)',
        '13:7  warning: ":rocket:" is shown as plain text: names of emoji are not supported (write the emoji itself)',
        '13:18  warning: "^[a b]" is shown as plain text: such footnotes are not supported (write [^1], and a line "[^1]: text")',
        '15:1  warning: "$$" is shown as plain text: formulas are not rendered (use backticks or words)',
        '19:1  warning: "%%four%%" is shown as plain text: comments between %% are not supported (write <!-- text -->)',
        '21:6  warning: "<!--" is shown as plain text: comments with an empty line within a paragraph are not supported (start the comment on a new line)',
      ],
    '<div>\n<!-- One\n\nTwo -->\n</div>\n': [
      '<div>\n<!-- One\nTwo -->\n</div>\n\n<!-- Three\n\nfour -->\n',
      '10:1  warning: the comment is not closed: it ends at the empty line, and the rest is shown (delete the empty line)',
    ],
    '\u200b## One\n\n\u00a0 - two\n\n- [\u00a0] three\n\n>\u00a0[!NOTE]\n> Four.\n\n|\u00a0a |\n|\u00a0--- |\n\n**\u00a0five**\u000b\n':
      [
        '## One\n\n- two\n\n10\u00a0GB, 3\u00a0- 4\u200b5 – \u00a0six, **seven**\u00a0eight\n\n| 9\u00a0GB |\n|---|\n',
        '9:1  warning: "##" is shown as plain text because of U+200B (zero-width space) (delete it, or type what it stands for)',
        '11:1  warning: "-" is shown as plain text because of U+00A0 (no-break space) (write a normal space)',
        '13:4  warning: "[" is shown as plain text because of U+00A0 (no-break space) (write a normal space)',
        '15:2  warning: "[!" is shown as plain text because of U+00A0 (no-break space) (write a normal space)',
        '18:2  warning: "|" is shown as plain text because of U+00A0 (no-break space) (write a normal space)',
        '21:1  warning: "**" is shown as plain text because of U+00A0 (no-break space) (write ** directly before the first and after the last letter, or \\*\\* to show it)',
        '21:10  warning: U+000B in the text (delete it, or type what it stands for)',
      ],
    '```bash\nsudo\u00a0apt\u00a0install\nls –a\necho “x”\nls\u200b\nphp‑fpm\n```\n\nRun `–-x` or `a\u00a0b`.\n': [
      '```bash\n##\u00a0A comment\necho 1–2 - x\n├\u00a0a\n```\n\n```\n“x” – y\n```\n\nThe dash – and `“`, 5\u00a0GB.\n',
      '10:5  warning: U+00A0 (no-break space) in code: copied code fails (write a normal space)',
      '11:4  warning: U+2013 (en dash) in code: copied code fails (delete it, or type what it stands for)',
      '12:6  warning: U+201C (curly quote) in code: copied code fails (delete it, or type what it stands for)',
      '13:3  warning: U+200B (zero-width space) in code: copied code fails (delete it, or type what it stands for)',
      '14:4  warning: U+2011 (non-breaking hyphen) in code: copied code fails (delete it, or type what it stands for)',
      '17:6  warning: U+2013 (en dash) in code: copied code fails (delete it, or type what it stands for)',
      '17:16  warning: U+00A0 (no-break space) in code: copied code fails (write a normal space)',
    ],
    'One.[^1]\n\n[^1]: Two.\n[^a]: Three.\n': [
      'One.[^1] Two.[^a]\n\n[^1]: Two.\n[^a]: Three.\n',
      '12:1  warning: the footnote [^a] is not shown: nothing refers to it (write [^a] in the text, or delete the footnote)',
    ],
  };
  testTexts(Object.fromEntries(Object.entries(rows).map(([markdown, row]) => [markdown, row.slice(1)])));
  testTexts(Object.fromEntries(Object.values(rows).map(([silent]) => [silent, []])));
});

describe('nothing is reported for', () => {
  testTexts(
    Object.fromEntries(
      [
        '```text\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other\n```\n',
        'One\n---\n',
        '<h2 id="x">One</h2>\n\n### Two\n',
        "Set $cfg['db']['host'] and f(x)[0][1] first.\n",
        'Only [^a-z] is allowed.\n',
        '[!TIP](https://www.example.com) is a link.\n',
        '> > > > > > > One\n>>>>>>> two\n',
        '<details>\n<summary>One</summary>\n\nTwo.\n\n</details>\n',
        'Press <kbd>Ctrl</kbd> <b>now</b><br>or<br/>later.\n',
        '<ul><li>One<li>Two</ul>\n<p>Three\n\n<table><tr><td>One<td>Two</table>\n',
        'One <!-- <iframe> --> two.\n\n<!-- <details>\n\n<script> -->\n',
        '<img src="/media/kb/map.svg" alt="<your-ip> > 1">\n',
        '<a name="x"/>One\n',
        'Use `<iframe>` and \\<b> and &lt;x&gt;.\n\n    <script>\n\n```html\n<script>\n```\n',
        '<https://www.example.com> <a@example.com>\n',
        '````md\n```sh\nls\n```\n````\n\n- ```\n  ls\n  ```\n\n> ~~~\n> ```sh\n> ~~~\n',
        '> [!NOTE]\n> One.\n\n> [!tip]\n>\n> Two.\n\n> \\[!INFO] three\n',
        'Write `{{< x >}}` and {{ y }}.\n\n```text\n{{< x >}}\n:::\n```\n',
        'One::: two\n\nfe80:::1\n',
        '| a | b |\n|---|---|\n| 1 | 2 |\n\na | b\n- | -\n1 | 2\n',
        'a | b\nc | d\n\n|x| is positive\n|y| is not\n',
        '```sh\n```\n\n```yml\n```\n\n```text\n```\n\n```C++\n```\n\n```output\n```\n\n```haskell\n```\n\n```tree\n```\n\n```\n```\n',
        'a[0][1], [x], [ ] y, \\[a][b], `[a][b]`.\n\n- [ ] todo\n',
        '[a][b], [b][], [b] and ![a][b] One.[^1]\n\n[b]: https://www.example.com\n[^1]: Two.\n',
        '#1 choice\n#hosting\n\n\\##x\n',
        '## One\n\n### Two\n\n#### Three\n\n## Four\n',
        '<img src="/media/kb/map.svg" alt="">\n',
        '[x](/pricing) [x](/bot/x) [x](//www.example.com) [x](#) [x](https://www.example.com) [x](mailto:a@b.c) www.example.com\n',
      ].map((markdown) => [markdown, []]),
    ),
  );
});

test('mistakes in drafts, scheduled and broken articles are reported', async () => {
  const names = ['published', 'draft', 'scheduled', 'broken'];
  const fields = [{}, { draft: 'true' }, { date: '2027-01-01' }, { date: 'soon' }];
  const text = 'One.\n\n<<<<<<< HEAD\nTwo.\n=======\n>>>>>>> other\n';
  const files = Object.fromEntries(
    names.map((name, index) => [`content/blog/news/${name}.md`, article(fields[index]!, text)]),
  );
  expect((await problemsOf(createProject(files))).filter((line) => line.includes('merge conflict'))).toEqual(
    names.toSorted().map((name) => `content/blog/news/${name}.md:${name === 'draft' ? 12 : 11}:1  ${conflict}`),
  );
});

test('warnings about a cached article are reported again, and are errors in a strict build', async () => {
  const root = createProject({ 'content/blog/news/page.md': article({ title: 'We are #1' }, 'One.\n\n# Two\n') });
  const problems = [
    'content/blog/news/page.md:2:15  warning: "title" ends before #1, which is a comment in YAML (write "We are #1")',
    'content/blog/news/page.md:11:1  warning: only the title may be a heading of level 1 (start with ##)',
  ];
  const build = (options = {}): Promise<string[]> => problemsOf(root, { checkOnly: false, lenient: true, ...options });
  expect(await build()).toEqual(problems);
  expect(await build()).toEqual(problems);
  // Only another article changed, so this article comes from the cache.
  writeFiles(root, { 'content/blog/news/first.md': article({}, '## Details\n\nChanged.\n') });
  expect(await build()).toEqual(problems);
  expect(await build({ lenient: false, strict: true })).toEqual(problems.map((line) => line.replace('warning: ', '')));
});

const file = 'content/blog/news/links.md';

describe('text that an attribute or class would hide', () => {
  const hidden = {
    'style="display:none"': 'style="display:none"',
    'style="color:red; Visibility: hidden"': 'style="color:red; Visibility: hidden"',
    'style="opacity:0"': 'style="opacity:0"',
    hidden: 'hidden',
    'class="a d-none"': 'class="d-none"',
    'class="sr-only"': 'class="sr-only"',
    'class=visually-hidden': 'class="visually-hidden"',
  };
  const messageOf = (written: string) =>
    `this is shown to readers: ${written} is removed (delete the text, or the attribute to show it)`;
  testTexts(
    Object.fromEntries([
      ...Object.entries(hidden).map(([attribute, written]) => [
        `One.\n\n<div ${attribute}>\n\nTwo.\n\n</div>\n\nThree <b ${attribute}>four</b>.\n`,
        [`11:1  ${messageOf(written)}`, `17:7  ${messageOf(written)}`],
      ]),
      ['<p class="lead" style="opacity:0.5;font-size:0.9em">One <i class="hidden"></i></p>\n\n`<p hidden>x</p>`\n', []],
    ]),
  );

  test('is an error in drafts too, and a warning with --lenient', async () => {
    const root = createProject({ [file]: article({ draft: 'true' }, '<p hidden>One</p>\n') });
    expect(await problemsOf(root)).toEqual([`${file}:10:1  ${messageOf('hidden')}`]);
    expect(await problemsOf(root, { lenient: true })).toEqual([`${file}:10:1  warning: ${messageOf('hidden')}`]);
  });
});

describe('a link is an error if', () => {
  testTexts({
    'See [x](none.md).': '9:5  there is no article /blog/news/none',
    '[x](/blog/news/none)': '9:1  there is no article /blog/news/none',
    '[x](frist.md)': '9:1  there is no article /blog/news/frist (did you mean "/blog/news/first"?)',
    '[x](First.md)': '9:1  there is no article /blog/news/First (did you mean "/blog/news/first"?)',
    '[x](ssh.md)': '9:1  there is no article /blog/news/ssh (did you mean "/knowledgebase/vps/ssh"?)',
    '[x](/blog/news/first/)': '9:1  there is no article /blog/news/first/ (did you mean "/blog/news/first"?)',
    '[x](first.md#detials)':
      '9:1  there is no heading or anchor #detials in /blog/news/first (did you mean "details"?)',
    '[x](first.md#installation)': '9:1  there is no heading or anchor #installation in /blog/news/first',
    '[x](#nope)': '9:1  there is no heading or anchor #nope in /blog/news/page-#',
    '[x](../../../etc/passwd)': '9:1  the link "../../../etc/passwd" points outside content/',
    '[x](../../README.md)': '9:1  the link "../../README.md" points outside content/',
    '[x](../../media/../../catalog/domains.yaml)':
      '9:1  the link "../../media/../../catalog/domains.yaml" points outside content/',
    '[x](%2e%2e/%2e%2e/x.md)': '9:1  the link "%2e%2e/%2e%2e/x.md" points outside content/',
    '[x](/blog/nwes)': '9:1  there is no article /blog/nwes',
    '[x](:/0123456789abcdef)': '9:1  there is no article /blog/news/:/0123456789abcdef',
    '[x](10:20.md)': '9:1  there is no article /blog/news/10:20',
    '[x](“https://www.example.com”)': '9:1  there is no article /blog/news/“https:/www.example.com”',
    '<a href="none.md">x</a>': '9:1  there is no article /blog/news/none',
    'Text.\n\n- one\n- [x](none.md)': '12:3  there is no article /blog/news/none',
    '| a |\n|-|\n| [x](none.md) |': '11:3  there is no article /blog/news/none',
    '[x](/content/blog/news/first.md#details)':
      '9:1  "/content/blog/news/first.md#details" works only on your computer (write /blog/news/first#details)',
    '[x](/preview/knowledgebase/vps/ssh)':
      '9:1  "/preview/knowledgebase/vps/ssh" works only on your computer (write /knowledgebase/vps/ssh)',
    '[x](http://localhost:3000/preview/blog/news/first)':
      '9:1  "http://localhost:3000/preview/blog/news/first" works only on your computer (write /blog/news/first)',
    '[x](/vps/ssh.md#firewall)':
      '9:1  there is no file /vps/ssh.md#firewall in content/ (did you mean "/knowledgebase/vps/ssh"?)',
    '[x](/docs/none.md)':
      '9:1  there is no file /docs/none.md in content/ (for another part of the website, write the full address)',
    '[x](..\\vps\\ssh.md)':
      '9:1  the address "..\\vps\\ssh.md" has backslashes (write / instead; copy the file to content/media/ and write /media/ and the file name)',
    '[x](support@example.com)': '9:1  the link "support@example.com" has no scheme (write mailto:support@example.com)',
    '[x](example.com/x)': '9:1  the link "example.com/x" has no scheme (write https://example.com/x)',
    'See [x].\n\n[x]: none.md': '9:5  there is no article /blog/news/none',
  });

  const linked = (fields: Readonly<Record<string, string>>): Files => ({
    [file]: article({}, 'Soon: [x](target.md).\n'),
    'content/blog/news/target.md': article(fields, 'Text.\n'),
  });
  testProjects({
    'the target is a draft': [linked({ draft: 'true' }), `${file}:9:7  the article /blog/news/target is a draft`],
    'the target is a scheduled article': [
      linked({ date: '2027-01-01' }),
      `${file}:9:7  the article /blog/news/target is not published before 2027-01-01`,
    ],
    'the target does not exist; each such link is reported': [
      { [file]: article({}, '[a](a1.md) and [b](b2.md)\n\n[a](a1.md)\n') },
      `${file}:9:1  there is no article /blog/news/a1`,
      `${file}:9:16  there is no article /blog/news/b2`,
      `${file}:11:1  there is no article /blog/news/a1`,
    ],
  });
});

describe('media is an error if', () => {
  testTexts({
    '![x](/media/kb/none.png)': '9:1  there is no /media/kb/none.png in content/',
    '![x](../../media/kb/mpa.svg)':
      '9:1  there is no /media/kb/mpa.svg in content/ (did you mean "/media/kb/map.svg"?)',
    '[x](/media/kb/none.pdf)': '9:1  there is no /media/kb/none.pdf in content/',
    '<img src="/media/kb/none.png" alt="">': '9:1  there is no /media/kb/none.png in content/',
    '<picture><source srcset="/media/kb/none.webp"><img src="/media/kb/map.svg" alt=""></picture>':
      '9:10  there is no /media/kb/none.webp in content/',
    '![x](/content/media/kb/map.svg)':
      '9:1  "/content/media/kb/map.svg" works only on your computer (write /media/kb/map.svg)',
    '<img src="http://127.0.0.1:3000/preview/media/kb/map.svg" alt="x">':
      '9:1  "http://127.0.0.1:3000/preview/media/kb/map.svg" works only on your computer (write /media/kb/map.svg)',
    '![x](/kb-pictures/map.svg)':
      '9:1  there is no file /kb-pictures/map.svg in content/ (did you mean "/media/kb/map.svg"?)',
    '![x](:/0123456789abcdef)': '9:1  the image "./:/0123456789abcdef" is not in content/media/',
    '![x](Foto_10:20:30.png)': '9:1  the image "./Foto_10:20:30.png" is not in content/media/',
    '<img src="10:20.png" alt="">': '9:1  the image "./10:20.png" is not in content/media/',
    '![x](map.svg)': '9:1  the image "map.svg" is not in content/media/ (did you mean "/media/kb/map.svg"?)',
  });
});

describe('a link is not an error if', () => {
  testTexts({
    '[x](/blog) [y](/knowledgebase/)': [],
    '[x](/blog/news) [y](/knowledgebase/vps/) [z](.)': [],
    '[x](/pricing) [y](/#top) [z](/preview) [a](/content/plans)': [],
    '[x](http://localhost:3000/blog/news/first) <http://localhost:8080/preview/x>': [],
    '[x](https://example.com/none.md) [y](//example.com) [z](mailto:a@example.com)': [],
    '[x](#) [y](#top) [z](first.md#top)': [],
  });

  testProjects({
    'it is in a draft, since its target may not exist yet: it is a warning': [
      {
        [file]: article(
          { draft: 'true' },
          '[x](none.md) ![y](/media/kb/none.png)\n\n[z](first.md#detials) [s](#nope)\n',
        ),
      },
      `${file}:10:1  warning: there is no article /blog/news/none (remove the reference until its target exists)`,
      `${file}:10:14  warning: there is no /media/kb/none.png in content/ (remove the reference until its target exists)`,
      `${file}:12:1  warning: there is no heading or anchor #detials in /blog/news/first (did you mean "details"?)`,
      `${file}:12:23  warning: there is no heading or anchor #nope in /blog/news/links (remove the reference until its target exists)`,
    ],
    'the article is a draft with a mistake in its front matter': [
      { [file]: article({ title: '"A', draft: 'true' }, '[x](none.md)\n') },
      `${file}:2:8  this quote is not closed (add " at the end of the text)`,
      `${file}:10:1  warning: there is no article /blog/news/none (remove the reference until its target exists)`,
    ],
    'the article is a draft by the value "yes"': [
      { [file]: article({ draft: 'yes' }, '[x](none.md)\n') },
      `${file}:7:8  "draft" must be true or false, not text`,
      `${file}:10:1  warning: there is no article /blog/news/none (remove the reference until its target exists)`,
    ],
    'a draft links to another draft': [
      {
        [file]: article({ draft: 'true' }, '[x](target.md)\n'),
        'content/blog/news/target.md': article({ draft: 'true' }, 'Text.\n'),
      },
    ],
    'the picture was removed that a draft shows: it is a warning': [
      {
        'content/media/kb/map.svg': undefined,
        'content/knowledgebase/vps/ssh.md': guide('SSH', '![Map](/media/kb/map.svg)\n').replace(
          '---\n\n',
          'draft: true\n---\n\n',
        ),
      },
      'content/knowledgebase/dns/records.md:6:4  the article /knowledgebase/vps/ssh is a draft',
      'content/knowledgebase/vps/ssh.md:7:1  warning: there is no /media/kb/map.svg in content/ (remove the reference until its target exists)',
    ],
    'a scheduled article links to another scheduled article': [
      {
        [file]: article({ date: '2027-02-01' }, '[x](target.md)\n'),
        'content/blog/news/target.md': article({ date: '2027-01-01' }, 'Text.\n'),
      },
    ],
    'its target article is broken: only the error in that article is reported': [
      {
        [file]: article({}, '[x](broken.md) [y](/knowledgebase/vps/broken#part)\n'),
        'content/blog/news/broken.md': article({ title: '5' }, 'Text.\n'),
        'content/knowledgebase/vps/broken.md': guide('"', '## Part\n'),
      },
      'content/blog/news/broken.md:2:8  "title" must be text, not a number (put it in quotes)',
      'content/knowledgebase/vps/broken.md:2:8  this quote is not closed (add " at the end of the text)',
    ],
  });
});

test('whole addresses of the website and the service are checked like paths', async () => {
  const [site, service] = [siteUrls.site, siteUrls.service];
  const text =
    `[a](${site}/blog/news/none) [b](${site.replace('https', 'http')}/blog/news/first#nope) ![c](${service}/media/none.png)\n\n` +
    `[d](//www.EXAMPLE.com/blog/news/draft/) [e](${site}/blog/news/first/#details) [f](${site}/pricing) [g](${site}/blog/)\n\n` +
    '[h](https://example.org/blog/news/none) ![i](https://example.org/media/unused.svg)\n';
  const root = createProject({
    [file]: article({}, text),
    'content/blog/news/draft.md': article({ draft: 'true' }, 'Text.\n'),
    'content/media/unused.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
  });
  const unused =
    'content/media/unused.svg:1:1  warning: no article uses this file (remove it, or link it from an article)';
  expect(await problemsOf(root)).toEqual([unused]);
  expect(await problemsOf(root, { urls: siteUrls })).toEqual([
    `${file}:9:1  there is no article /blog/news/none`,
    `${file}:9:45  there is no heading or anchor #nope in /blog/news/first`,
    `${file}:9:94  there is no /media/none.png in content/`,
    `${file}:11:1  the article /blog/news/draft is a draft`,
    unused,
  ]);
});

describe('an alias is an error if', () => {
  const first = 'content/blog/news/first.md';
  const second = 'content/blog/news/second.md';

  const aliases = (list: string, ofFirst = {}): Files => ({
    [first]: article(ofFirst, 'Text.\n'),
    [second]: article({ aliases: list }, 'Text.\n'),
  });
  const taken = (place: string, alias: string, owner: string): string =>
    `${second}:${place}  the alias /blog/${alias} is taken by ${owner}`;

  testProjects({
    'an article has the path': [aliases('[/blog/news/first]'), taken('7:11', 'news/first', first)],
    'the article itself has the path': [aliases('[/blog/news/second]'), taken('7:11', 'news/second', second)],
    'another article has it too': [
      aliases('[/blog/a, /blog/old]', { aliases: '[/blog/old]' }),
      taken('7:20', 'old', first),
    ],
    'it is listed twice': [aliases('[/blog/old, /blog/old]'), taken('7:22', 'old', second)],
    'a draft has the path': [
      { ...aliases('[/blog/news/target]'), 'content/blog/news/target.md': article({ draft: 'true' }, 'Text.\n') },
      taken('7:11', 'news/target', 'content/blog/news/target.md'),
    ],
  });
});
