import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The violations that axe finds on a page, with their elements. The context of the page must bypass its CSP. */
export async function findViolations(page: Page, { ignore = [] }: { ignore?: string[] } = {}): Promise<unknown> {
  await page.evaluate(axe.source);
  return page.evaluate(async (ignored) => {
    const rules = Object.fromEntries(ignored.map((rule) => [rule, { enabled: false }]));
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run({ rules });
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
  }, ignore);
}
