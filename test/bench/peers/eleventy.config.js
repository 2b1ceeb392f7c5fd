/** One JSON file for each article, and one list; plain Markdown without a template language. */
// oxlint-disable-next-line import/no-default-export
export default function configure(config) {
  config.addGlobalData(
    'permalink',
    () =>
      ({ page }) =>
        `${page.filePathStem}.json`,
  );
  config.addCollection('articles', (api) => api.getFilteredByGlob('**/*.md'));
  config.addTransform('json', function toJson(html) {
    if (!this.page.inputPath.endsWith('.md')) return html;
    return JSON.stringify({ path: this.page.filePathStem, body: this.page.rawInput, html });
  });
  const list = ({ collections }) =>
    JSON.stringify(
      collections.articles.map(({ data, page }) => ({
        path: page.filePathStem,
        title: data.title,
        description: data.description,
      })),
    );
  config.addTemplate('list.11ty.js', { data: () => ({ permalink: '/list.json' }), render: list });
  config.setQuietMode(true);
}

export const config = { markdownTemplateEngine: false };
