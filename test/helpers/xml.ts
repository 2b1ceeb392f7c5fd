import { execFileSync, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** A group of tests with a program of a Debian package. Without it they are skipped, which fails on CI. */
function describeWith(name: string, debianPackage: string, isInstalled: boolean, body: () => void): void {
  if (!isInstalled) process.stderr.write(`the ${name} tests are skipped: apt-get install ${debianPackage}\n`);
  test(`${name} is installed on CI`, () => {
    expect({ CI: process.env.CI, isInstalled }).not.toEqual({ CI: 'true', isInstalled: false });
  });
  describe.skipIf(!isInstalled)(`with ${name}`, () => {
    body();
  });
}

/** Tests with xmllint. */
export function describeXmllint(body: () => void): void {
  describeWith('xmllint', 'libxml2-utils', spawnSync('xmllint', ['--version']).status === 0, body);
}

/** Tests with Python's feedparser. */
export function describeFeedparser(body: () => void): void {
  const isInstalled = spawnSync(python, ['-c', 'import feedparser']).status === 0;
  describeWith('feedparser', 'python3-feedparser', isInstalled, body);
}

// Debian's package is for its own Python.
const python = '/usr/bin/python3';

const sitemapSchema = resolve(import.meta.dirname, '../fixtures/sitemap/0.9.xsd');

/** What xmllint says of a document; empty if it is well formed and, for a sitemap, valid. */
export function lintXml(xml: string, { isSitemap = false } = {}): string {
  const schema = isSitemap ? ['--schema', sitemapSchema] : [];
  const { status, stderr } = spawnSync('xmllint', ['--noout', '--nonet', ...schema, '-'], { input: xml });
  return status === 0 ? '' : stderr.toString();
}

/** An entry of a feed, as Python's feedparser reads it. */
export interface ParsedEntry {
  readonly id: string;
  readonly title: string;
  readonly link: string;
  readonly published: string;
  readonly updated: string;
  readonly author_detail: { readonly name: string; readonly href?: string };
  readonly tags: readonly { readonly term: string; readonly label: string | null }[];
  readonly summary: string;
  readonly content: readonly { readonly type: string; readonly value: string }[];
}

/** A feed, as Python's feedparser reads it; `bozo` is set if it is not well formed. */
export interface ParsedFeed {
  readonly bozo: boolean;
  readonly version: string;
  readonly feed: { readonly id: string; readonly title: string; readonly updated: string };
  readonly links: Readonly<Record<string, string>>;
  readonly entries: readonly ParsedEntry[];
}

const program = `
import feedparser, json, sys
# Without the options, it would sanitise the HTML and resolve its addresses.
feed = feedparser.parse(sys.stdin.buffer.read(), sanitize_html=False, resolve_relative_uris=False)
links = {link['rel']: link['href'] for link in feed.feed.links}
result = {'bozo': bool(feed.bozo), 'version': feed.version, 'feed': feed.feed, 'links': links, 'entries': feed.entries}
print(json.dumps(result))
`;

/** Parses a feed with feedparser. */
export function parseFeed(xml: string): ParsedFeed {
  return JSON.parse(execFileSync(python, ['-c', program], { input: xml }).toString()) as ParsedFeed;
}
