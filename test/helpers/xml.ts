import { execFileSync, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describeInstalled } from './installed.ts';

const start = () => Promise.resolve();

/** Groups tests that use xmllint. */
export function describeXmllint(body: () => void): void {
  describeInstalled({ start, name: 'xmllint', package: 'libxml2-utils', commands: ['xmllint'] }, body);
}

/** Groups tests that use Python's feedparser. */
export function describeFeedparser(body: () => void): void {
  const parser = { name: 'feedparser', package: 'python3-feedparser', commands: ['python3'] };
  describeInstalled({ start, ...parser, files: ['/usr/lib/python3/dist-packages/feedparser'] }, body);
}

// Debian's package works only with Debian's Python.
const python = '/usr/bin/python3';

const sitemapSchema = resolve(import.meta.dirname, '../fixtures/sitemap/0.9.xsd');

/** Returns xmllint's messages; empty if the document is well-formed and, for a sitemap, valid. */
export function lintXml(xml: string, { isSitemap = false } = {}): string {
  const schema = isSitemap ? ['--schema', sitemapSchema] : [];
  const { status, stderr } = spawnSync('xmllint', ['--noout', '--nonet', ...schema, '-'], { input: xml });
  return status === 0 ? '' : stderr.toString();
}

/** A feed parsed by Python's feedparser; `bozo` is set if it is not well-formed. */
interface ParsedFeed {
  readonly bozo: boolean;
  readonly version: string;
  readonly feed: object;
  readonly links: object;
  readonly entries: readonly { readonly title: string; readonly tags: object; readonly content: { value: string }[] }[];
}

const program = `
import feedparser, json, sys
# By default, feedparser would sanitise the HTML and resolve URLs.
feed = feedparser.parse(sys.stdin.buffer.read(), sanitize_html=False, resolve_relative_uris=False)
links = {link['rel']: link['href'] for link in feed.feed.links}
result = {'bozo': bool(feed.bozo), 'version': feed.version, 'feed': feed.feed, 'links': links, 'entries': feed.entries}
print(json.dumps(result))
`;

/** Parses a feed with feedparser. */
export function parseFeed(xml: string): ParsedFeed {
  return JSON.parse(execFileSync(python, ['-c', program], { input: xml }).toString()) as ParsedFeed;
}
