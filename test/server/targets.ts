import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLimited } from '#contract/endpoint.ts';
import { endpoints, matchFile } from '#contract/endpoints.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import type { EndpointName } from '#contract/endpoints.ts';
import { keyEntries } from '#contract/keys.ts';
import { schemas } from '#contract/primitives.ts';
import { Manifest } from '#contract/release.ts';

const isGet = (name: EndpointName): boolean => endpoints[name].method === 'GET';
// Actions come last: a read of a state waits until it is newer than the last action.
const allNames = (Object.keys(endpoints) as EndpointName[]).toSorted(
  (one, other) => Number(isGet(other)) - Number(isGet(one)),
);

/** Every operation on keys: a valid request may end the key of other tests. */
export const keyNames = Object.keys(keyEntries) as (keyof typeof keyEntries)[];

/** Every other operation of the OpenAPI document, for test tables; human-facing pages are tested elsewhere. */
export const endpointNames = allNames.filter((name) => !describeEndpoint(name).isPage && !(name in keyEntries));

/** Every endpoint that serves files of the release. */
export const storedNames = endpointNames.filter((name) => endpoints[name].stored === 'file');

/** Every endpoint with a rate limit. */
export const limitedNames = endpointNames.filter((name) => isLimited(endpoints[name].path));

/** Every endpoint without a rate limit. */
export const unlimitedNames = endpointNames.filter((name) => !isLimited(endpoints[name].path));

/** The contract of an endpoint. */
export function describeEndpoint(name: EndpointName): Endpoint {
  return endpoints[name];
}

/** Every endpoint that needs a key. */
export const keyedNames = endpointNames.filter((name) => describeEndpoint(name).access);

/** Every endpoint that needs a key for a server. */
export const serverNames = keyedNames.filter((name) => typeof describeEndpoint(name).access === 'object');

/** The access that an endpoint of a server needs. */
export function serverAccessOf(name: EndpointName) {
  const { access } = describeEndpoint(name);
  if (typeof access !== 'object') throw new Error(`${name} is for no server`);
  return access;
}

/** Replaces the server's ID in the target of {@link requestOf}. */
export function withServer(target: string, id: string): string {
  return target.replace(/\/mine(?=[/?]|$)/, () => `/${id}`);
}

/** The methods of an endpoint's path. */
export function methodsOf(name: EndpointName): string[] {
  const methods = endpointNames
    .filter((other) => endpoints[other].path === endpoints[name].path)
    .map((other) => endpoints[other].method);
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

const patterns = allNames.map((name) => {
  const pattern = endpoints[name].path
    .replaceAll('.', '\\.')
    .replace(/\{\w+\*\}/g, '.+')
    .replace(/\{\w+\}/g, '[^/]+');
  return { name, pattern: new RegExp(`^${pattern}$`) };
});

/** The endpoint of a target in its canonical spelling; of a path without the method, the first. */
export function endpointAt(target: string, method = 'GET'): EndpointName | undefined {
  const [path = ''] = target.split('?');
  const plain = !/\/\.*(?:\/|$)|%2e|\\/i.test(path);
  const found = plain ? patterns.filter(({ pattern }) => pattern.test(path)) : [];
  return (found.find(({ name }) => endpoints[name].method === method) ?? found[0])?.name;
}

/** The manifest of a project folder's current release. */
export function readManifest(root: string): Manifest {
  return Manifest.parse(JSON.parse(readFileSync(join(root, 'dist/current/manifest.json'), 'utf8')));
}

/** All requestable files of the current release, uncompressed. */
export function servedFiles(root: string) {
  return Object.keys(readManifest(root).files).flatMap((file) => {
    const target = /\.(?:gz|br)$/.test(file) ? undefined : matchFile(file)?.target;
    if (target === undefined) return [];
    const name = endpointAt(target);
    if (!name) throw new Error(`no endpoint answers with ${file}`);
    return [{ file, target, name }];
  });
}

/** Values for parameters that do not select a file. */
const parameters: Record<string, string> = { force: 'true', domain: 'example.com' };

/** A request that the endpoint answers with 200, from the contract, the served release and the key. */
export function requestOf(name: EndpointName, { root, key }: { root: string; key: string }) {
  const { method, path, query, body, access, stored } = describeEndpoint(name);
  const headers: Record<string, string> = access ? { Authorization: `Bearer ${key}` } : {};
  // Messages of other protocols have no schema of their own.
  const example = body && (schemas.get(body.schema)?.example ?? { jsonrpc: '2.0', id: 1, method: 'ping' });
  const given: { body?: string } = body ? { body: JSON.stringify(example) } : {};
  const usual = { method, headers, ...given };
  const [parameter] = Object.keys(query?.shape ?? {}).filter((one) => one in parameters);
  if (access || parameter !== undefined) {
    const search = parameter === undefined ? '' : `?${parameter}=${parameters[parameter]}`;
    return { ...usual, target: path.replace(/\{\w+\}/, 'mine') + search };
  }
  if (!path.includes('{') && (query === undefined || query.safeParse({}).success)) return { ...usual, target: path };
  const served = stored ? servedFiles(root).find((file) => file.name === name) : undefined;
  if (!served) throw new Error(`the valid project has no file for ${name}`);
  return { ...usual, target: served.target };
}
