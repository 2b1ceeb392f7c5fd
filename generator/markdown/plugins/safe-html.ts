import { defaultSchema } from 'rehype-sanitize';
import type { Options } from 'rehype-sanitize';
import { alertTitles } from './remark-alerts.ts';
import { idPrefix } from './rehype-heading-ids.ts';

const alertClasses = ['markdown-alert', ...Object.keys(alertTitles).map((kind) => `markdown-alert-${kind}`)];

/**
 * The HTML that a release may contain: GitHub's allow list, figures, marks, abbreviations, videos and sounds, and the classes
 * of alerts. Other elements are replaced by their content; those in `strip` are removed with it, since their text is not prose.
 */
export const safeHtml: Options = {
  ...defaultSchema,
  clobberPrefix: idPrefix,
  tagNames: [...(defaultSchema.tagNames ?? []), 'abbr', 'audio', 'figcaption', 'figure', 'mark', 'video'],
  attributes: {
    ...defaultSchema.attributes,
    audio: ['src'],
    code: [...(defaultSchema.attributes?.['code'] ?? []), 'dataTitle', 'dataLines'],
    video: ['src', 'poster'],
    source: ['src', 'srcSet', 'type'],
    div: [...(defaultSchema.attributes?.div ?? []), ['className', ...alertClasses]],
    p: [['className', 'markdown-alert-title']],
  },
  protocols: { ...defaultSchema.protocols, poster: defaultSchema.protocols?.['src'] },
  // A player without controls cannot be stopped, nor used with the keyboard.
  required: { ...defaultSchema.required, audio: { controls: true }, video: { controls: true } },
  strip: (
    'script style template noscript svg math title head iframe frame frameset noframes object embed applet noembed ' +
    'canvas textarea select option button xmp plaintext'
  ).split(' '),
};
