import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Article } from '../articles/article.ts';
import { html, trusted } from '../html.ts';
import type { Html } from '../html.ts';
import { renderMarks, renderProblem } from './page.ts';
import { findLinks, groupProblems, titleOf } from './state.ts';
import type { PreviewState } from './state.ts';

/** Renders the page of an article, with the HTML that the API answers. */
export function renderArticle(article: Article, { articles, diagnostics, directory }: PreviewState): Html {
  const problems = groupProblems(diagnostics)(article.file.display);
  const answer = readAnswer(directory, article.output);
  const { out, into } = findLinks(article, articles);
  return html`<div class="columns">
    <div>
      <p class="path"><code>${article.path}</code> ${renderMarks(article, problems)}</p>
      ${[...problems.errors, ...problems.warnings].map(renderProblem)}
      ${
        answer
          ? renderAnswer(answer, (path) => toPreviewed(path, directory!))
          : html`<h1>${titleOf(article)}</h1>
              <p>The text is shown once its problems are solved.</p>`
      }
    </div>
    <aside>
      ${answer && renderOutline(answer.html)} ${renderLinks('Links to', out)} ${renderLinks('Linked from', into)}
      <h2>Front matter</h2>
      <pre tabindex="0">${readFrontMatter(article.file.absolute)}</pre>
    </aside>
  </div>`;
}

/** The fields of the answers to both kinds of article. */
interface Answer {
  readonly title: string;
  readonly description: string;
  readonly category: string;
  readonly html: string;
  readonly date?: string;
  readonly author?: string;
  readonly readTime?: string;
  readonly cover?: string;
}

function readAnswer(directory: string | undefined, output: string): Answer | undefined {
  try {
    return directory === undefined ? undefined : (JSON.parse(readFileSync(join(directory, output), 'utf8')) as Answer);
  } catch {
    // It has not been built yet.
    return undefined;
  }
}

/** The address of an own picture in the preview, another one after each change: browsers keep what they have shown. */
function toPreviewed(path: string, directory: string): string {
  const { mtimeMs } = statSync(join(directory, 'public', path), { throwIfNoEntry: false }) ?? {};
  return mtimeMs === undefined ? path : `/preview${path}?${mtimeMs}`;
}

const image = /<img(?:\s+[^\s"=>]+(?:="[^"]*")?)*/g;

function renderAnswer(
  { title, description, category, date, author, readTime, cover, html: text }: Answer,
  toAddress: (path: string) => string,
): Html {
  const facts = [category, date, author, readTime].filter((fact) => fact !== undefined);
  const shown = text.replace(image, (tag) => tag.replace(/(?<= src=")\/media\/[^"?#]+/, toAddress));
  return html`<h1>${title}</h1>
    <p class="description">${description}</p>
    <p class="facts">${facts.join(' · ')}</p>
    ${cover !== undefined && html`<img class="cover" src="${toAddress(cover)}" alt="" />`}
    <article class="markdown-body">${trusted(shown)}</article>`;
}

/** Renders the headings that links can point to. */
function renderOutline(text: string): Html {
  const headings = [...text.matchAll(/<h([2-4])[^>]*? id="([^"]*)"[^>]*>(.*?)<\/h\1>/gs)];
  const items = headings.map(([, level, id, title]) => {
    const words = title!.replace(/<(?:"[^"]*"|[^">])*>/g, '').replaceAll('<', '&lt;');
    return html`<li class="level-${level}"><a href="#${trusted(id!)}">${trusted(words)}</a></li>`;
  });
  return html`${
    items.length > 0 &&
    html`<h2>Outline</h2>
      <ul class="outline">
        ${items}
      </ul>`
  }`;
}

function renderLinks(title: string, articles: readonly Article[]): Html {
  const items = articles.map((article) => html`<li><a href="/preview${article.path}">${titleOf(article)}</a></li>`);
  return html`${
    items.length > 0 &&
    html`<h2>${title}</h2>
      <ul>
        ${items}
      </ul>`
  }`;
}

function readFrontMatter(file: string): string {
  try {
    return /^---\r?\n(.*?)\r?\n---/s.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  } catch {
    // It has just been removed.
    return '';
  }
}
