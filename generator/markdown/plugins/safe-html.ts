import { defaultSchema } from 'rehype-sanitize';
import type { Options } from 'rehype-sanitize';
import { alertTitles } from './remark-alerts.ts';
import { idPrefix } from './rehype-heading-ids.ts';

const alertClasses = ['markdown-alert', ...Object.keys(alertTitles).map((kind) => `markdown-alert-${kind}`)];

/**
 * The HTML that a release may contain: GitHub's allow list and the classes of alerts. Other elements are replaced by their
 * content; those in `strip` are removed with it, since their text is not prose.
 */
export const safeHtml: Options = {
  ...defaultSchema,
  clobberPrefix: idPrefix,
  attributes: {
    ...defaultSchema.attributes,
    div: [...(defaultSchema.attributes?.div ?? []), ['className', ...alertClasses]],
    p: [['className', 'markdown-alert-title']],
  },
  strip: (
    'script style template noscript svg math title head iframe frame frameset noframes object embed applet noembed ' +
    'audio video canvas textarea select option button xmp plaintext'
  ).split(' '),
};
