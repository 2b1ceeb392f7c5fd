import { endpoints } from '#contract/endpoints.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { fault, ok } from '../finding.ts';
import type { Check, Site } from './types.ts';

/** Public operations that have one address each. */
const single: readonly Endpoint[] = Object.values<Endpoint>(endpoints).filter(
  ({ method, path, query, access, replies }) =>
    method === 'GET' && 200 in replies && !path.includes('{') && !access && (query?.safeParse({}).success ?? true),
);

/** Whether each public operation answers what the machine description says. */
export const bodies: Check = {
  name: 'bodies as described',
  async run(site) {
    const described = [
      ...single.map((endpoint) => ({ target: endpoint.path, endpoint })),
      ...samples(site, '/v1/blog/article', endpoints.getBlogArticle),
      ...samples(site, '/v1/kb/article', endpoints.getKnowledgeBaseArticle),
    ];
    const wrong: string[] = [];
    for (const { target, endpoint } of described) {
      // oxlint-disable-next-line no-await-in-loop -- The limit of the client would refuse many at once.
      const difference = await compare(site, target, endpoint);
      if (difference !== undefined) wrong.push(`${target} ${difference}`);
    }
    if (wrong.length === 0) return ok(`${described.length} answers`);
    const seen = `${wrong.slice(0, 3).join('; ')}${wrong.length > 3 ? `; and ${wrong.length - 3} more` : ''}`;
    const advice =
      'see that the proxy sends these paths to the service with their queries, and changes no body; ' +
      '502, 503 and 500 are the service itself: read its log';
    return fault(seen, advice);
  },
};

/** Targets that exist only with some settings answer 404 without them. */
const mayBeMissing = (endpoint: Endpoint): boolean => endpoint.problems.includes('not_found');

async function compare({ visit }: Site, target: string, endpoint: Endpoint): Promise<string | undefined> {
  const seen = await visit(target, { headers: { 'Accept-Encoding': 'identity' } });
  if (seen.status === 404 && mayBeMissing(endpoint)) return undefined;
  const reply = endpoint.replies[200];
  if (seen.status !== 200 || !reply) return `answers ${seen.status}`;
  const type = seen.header('content-type');
  if (!type.startsWith(reply.mediaType)) return `is ${type || 'without a type'}, not ${reply.mediaType}`;
  if (reply.schema && !reply.schema.safeParse(seen.json()).success) return 'has another shape';
  if (seen.bytes.length === 0) return 'is empty';
  return undefined;
}

function samples({ articles }: Site, path: string, endpoint: Endpoint) {
  return articles
    .filter((target) => target.startsWith(`${path}?`))
    .slice(0, 1)
    .map((target) => ({ target, endpoint }));
}

/** Whether errors are those of the service: proxies like to send pages of their own. */
export const errors: Check = {
  name: 'errors as described',
  async run({ visit }) {
    const article = await visit('/v1/kb/article?path=/knowledgebase/doctor/does-not-exist');
    if (article.status !== 404 || article.text() !== 'article not found\n') {
      return fault(
        `a missing article answers ${article.status} with ${article.header('content-type') || 'no type'}, not its text`,
        'let the proxy pass on errors (nginx: proxy_intercept_errors off, no error_page for 4xx)',
      );
    }
    const unknown = await visit('/v1/doctor');
    const { error } = (unknown.json() ?? {}) as { error?: unknown };
    if (unknown.status === 404 && error === 'not_found') return ok('404 of an article and of a path');
    return fault(
      `an unknown path below /v1 answers ${unknown.status}, not the 404 of the service`,
      'send every path to the service, and let the proxy pass on its errors',
    );
  },
};
