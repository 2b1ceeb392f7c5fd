import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createTestApp } from './app.ts';
import { ends } from './ends.ts';
import { buildProject, sharedFolder, siteUrls, startProgram, temporaryFolder } from './project.ts';
import { createRdapUpstream } from './upstream-rdap.ts';

const repository = resolve(import.meta.dirname, '../..');

/** The example site, with the API on this repository's sample content, and the registry of .com, .eu and .net. */
export type ExampleSite = Awaited<ReturnType<typeof startExampleSite>>;

let built: ReturnType<typeof buildSample> | undefined;

async function buildSample() {
  const registry = await createRdapUpstream({ onEnd: (end) => void ends.push(end) });
  const root = sharedFolder(() => (built = undefined));
  for (const folder of ['content', 'catalog'])
    cpSync(join(repository, folder), join(root, folder), { recursive: true });
  const file = join(root, 'catalog/domains.yaml');
  const withLookup = readFileSync(file, 'utf8').replaceAll(
    /^ {2}\.(?:com|eu|net):$/gm,
    `$&\n    lookup: { rdap: "${registry.base}" }`,
  );
  writeFileSync(file, withLookup);
  await buildProject(root, { urls: siteUrls });
  return { root, registry };
}

/** Starts the API and the site, each on its own port, until the test ends. Builds the content once per file. */
export async function startExampleSite(settings: Record<string, string> = {}) {
  const api = await startSampleApi(settings);
  return { ...api, url: await serveExampleSite(api.app.url) };
}

/** Starts only the API. */
export async function startSampleApi(settings: Record<string, string> = {}) {
  const { root, registry } = await (built ??= buildSample());
  const app = await createTestApp({ root, settings: { DATA_DIR: temporaryFolder(), ...settings } });
  return { app, registry };
}

/** Runs `node examples/site/serve.ts` until the test ends, and returns the URL. */
export async function serveExampleSite(api: string): Promise<string> {
  const env = { PATH: process.env.PATH, PORT: '0', API_URL: api };
  const site = startProgram(process.execPath, [join(repository, 'examples/site/serve.ts')], { env });
  return site.prints(/^http\S+(?= shows)/);
}
