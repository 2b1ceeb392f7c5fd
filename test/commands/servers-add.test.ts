import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/project.ts';
import { createCommandLine, damage, refused, succeeded } from './run-command.ts';

const providers = `providers:
  panel-eu: { type: pterodactyl, url: "https://panel.example.com", token: "\${NOT_SET_HERE}" }
  fsn: { type: hetzner, token: "\${NOT_SET_HERE}" }
  pve: { type: proxmox, url: "https://pve.example.com:8006", token_id: "a@pve!b", token_secret: "\${NOT_SET_HERE}" }
  here: { type: local, servers: { one: { kind: game, command: [x] }, two: { kind: vps, command: [x] } } }
  odd: { type: vmware }
  empty: { type: local }
`;

/** Creates a command line whose PROVIDERS_FILE refers to unset credentials. */
async function createWithProviders(text = providers) {
  const file = join(temporaryFolder(), 'providers.yaml');
  writeFileSync(file, text);
  const line = await createCommandLine({ PROVIDERS_FILE: file });
  const add = (server: string, provider: string, ref: string, ...args: string[]) =>
    line.run('servers', 'add', server, '--provider', provider, '--ref', ref, ...args);
  return { ...line, file, add };
}

const uuid = '1a7ce997-259b-452e-8b4e-cecc464142ca';

test.each([
  ['game:a', 'panel-eu', '1a7ce997'],
  ['game:a', 'panel-eu', uuid],
  ['vps:a', 'fsn', '4711'],
  ['vps:a', 'pve', '100'],
  ['game:a', 'here', 'one'],
  ['vps:a', 'here', 'two'],
])('%s of %s with the ref %s is added', async (server, provider, ref) => {
  const { add } = await createWithProviders();
  expect(await add(server, provider, ref)).toEqual(succeeded(`${server} is added\n`));
});

const useNumber = 'use the number of a server in the project';
const useVmid = 'use the number of a VPS (vmid, 100 to 999999999)';
const useUuid = 'use the identifier of a server in the panel (8 hexadecimal digits, or the whole UUID)';

test.each([
  ['game:a', 'panel-ue', '1a7ce997', 'PROVIDERS_FILE has no provider panel-ue (did you mean "panel-eu"?)'],
  ['game:a', 'toString', '1a7ce997', 'PROVIDERS_FILE has no provider toString'],
  ['game:a', 'fsn', '4711', 'the provider fsn (hetzner) runs no game servers'],
  ['game:a', 'pve', '100', 'the provider pve (proxmox) runs no game servers'],
  ['vps:a', 'panel-eu', '1a7ce997', 'the provider panel-eu (pterodactyl) runs no VPS'],
  ['vps:a', 'here', 'one', 'the server one of the provider here is a game server, not a VPS'],
  ['game:a', 'here', 'two', 'the server two of the provider here is a VPS, not a game server'],
  ['game:a', 'here', 'ones', 'the provider here has no server ones (did you mean "one"?)'],
  ['vps:a', 'fsn', 'web-1', `the ref web-1 is invalid for hetzner: ${useNumber}`],
  ['vps:a', 'fsn', '0', `the ref 0 is invalid for hetzner: ${useNumber}`],
  ['vps:a', 'pve', 'pve1/100', `the ref pve1/100 is invalid for proxmox: ${useVmid}`],
  ['vps:a', 'pve', '99', `the ref 99 is invalid for proxmox: ${useVmid}`],
  ['game:a', 'panel-eu', '17', `the ref 17 is invalid for pterodactyl: ${useUuid}`],
  ['game:a', 'panel-eu', '1a7ce997/x', `the ref 1a7ce997/x is invalid for pterodactyl: ${useUuid}`],
  ['game:a', 'panel-eu', 'survival', `the ref survival is invalid for pterodactyl: ${useUuid}`],
  ['game:a', 'odd', 'x', 'the provider odd in PROVIDERS_FILE is invalid: run `npm run doctor` to see the mistake'],
  ['game:a', 'empty', 'x', 'the provider empty in PROVIDERS_FILE is invalid: run `npm run doctor` to see the mistake'],
])('%s of %s with the ref %s is refused', async (server, provider, ref, message) => {
  const { add, store } = await createWithProviders();
  expect(await add(server, provider, ref)).toEqual(refused(`${message}\n`));
  expect(await store.servers.list()).toEqual([]);
  expect(await Array.fromAsync(store.audit.entries({}))).toEqual([]);
});

test.each([
  ['has no providers', 'servers: []\n'],
  ['is not YAML', 'providers: [\n'],
])('a PROVIDERS_FILE that %s is an error', async (_, text) => {
  const { add, store } = await createWithProviders(text);
  expect(await add('game:a', 'panel-eu', '1a7ce997')).toEqual(
    refused('PROVIDERS_FILE: the file cannot be read, or is not YAML with providers\n'),
  );
  expect(await store.servers.list()).toEqual([]);
});

test('without PROVIDERS_FILE a server is added unchecked, with a warning', async () => {
  const line = await createCommandLine();
  expect(await line.run('servers', 'add', 'game:a', '--provider', 'p', '--ref', 'r')).toEqual(
    succeeded('game:a is added\n', 'warning: PROVIDERS_FILE is not set: the provider p and the ref are not checked\n'),
  );
});

test('PROVIDERS_FILE_FILE works as for the server', async () => {
  const { file } = await createWithProviders();
  const pointer = join(temporaryFolder(), 'pointer');
  writeFileSync(pointer, `${file}\n`);
  const line = await createCommandLine({ PROVIDERS_FILE_FILE: pointer });
  expect((await line.run('servers', 'add', 'vps:a', '--provider', 'fns', '--ref', '1')).stderr).toBe(
    'PROVIDERS_FILE has no provider fns (did you mean "fsn"?)\n',
  );
});

describe('an existing server', () => {
  test('is replaced only with --replace, and the refusal has the existing record', async () => {
    const { add, store } = await createWithProviders();
    await add('game:a', 'panel-eu', '1a7ce997', '--log-file', 'logs/my.log');
    const before = await store.servers.list();
    expect(await add('game:a', 'here', 'one')).toEqual(
      refused(
        'game:a exists with ref 1a7ce997 of provider panel-eu and log file logs/my.log; pass --replace to replace the record\n',
      ),
    );
    expect(await store.servers.list()).toEqual(before);
    expect(await add('game:a', 'here', 'one', '--replace')).toEqual(
      succeeded('game:a is changed from ref 1a7ce997 of provider panel-eu and log file logs/my.log\n'),
    );
    expect(await store.servers.list()).toMatchObject([{ provider: 'here', ref: 'one', logFile: null }]);
  });

  test('stays unchanged if added again with the same values', async () => {
    const { add, store } = await createWithProviders();
    await add('vps:a', 'fsn', '4711');
    const audited = await Array.fromAsync(store.audit.entries({}));
    expect(await add('vps:a', 'fsn', '4711')).toEqual(succeeded('vps:a is already added\n'));
    expect(await Array.fromAsync(store.audit.entries({}))).toEqual(audited);
  });

  test('with a damaged record is replaced only with --replace', async () => {
    const line = await createWithProviders();
    await line.add('vps:a', 'fsn', '4711');
    damage(line, `UPDATE hosting_servers SET provider = ''`);
    expect(await line.add('vps:a', 'fsn', '4711')).toMatchObject(
      refused('the record "vps:a" of hosting_servers is corrupted; pass --replace to replace the record\n'),
    );
    expect((await line.add('vps:a', 'fsn', '4711', '--replace')).stdout).toBe('vps:a is changed\n');
    expect(await line.store.servers.list()).toMatchObject([{ provider: 'fsn', ref: '4711' }]);
  });

  test('shares its provider and ref with another server only with --shared, even with --replace', async () => {
    const { add, store } = await createWithProviders();
    await add('vps:a', 'fsn', '4711');
    await add('vps:b', 'fsn', '4712');
    const message = 'vps:a has ref 4711 of provider fsn; pass --shared to allow a second server\n';
    expect(await add('vps:c', 'fsn', '4711')).toEqual(refused(message));
    expect(await add('vps:b', 'fsn', '4711', '--replace')).toEqual(refused(message));
    expect((await store.servers.list()).map(({ ref }) => ref)).toEqual(['4711', '4712']);
    expect(await add('vps:c', 'fsn', '4711', '--shared')).toEqual(succeeded('vps:c is added\n'));
    expect(await add('vps:c', 'fsn', '4711')).toEqual(succeeded('vps:c is already added\n'));
    // For concurrent commands, the store refuses the second.
    const other = { server: 'vps:d', provider: 'fsn', ref: '4712', logFile: null } as const;
    await expect(store.servers.put(other)).rejects.toThrow('UNIQUE');
  });
});

describe('a server of a panel', () => {
  test.each([uuid, uuid.slice(0, 8), uuid.toUpperCase(), uuid.slice(0, 8).toUpperCase()])(
    'has one record, whichever of its refs is added first: %s',
    async (first) => {
      const { add, store } = await createWithProviders();
      expect((await add('game:a', 'panel-eu', first)).stdout).toBe('game:a is added\n');
      expect((await add('game:other', 'panel-eu', uuid.replace('997', '998').toUpperCase())).stdout).toContain('added');
      const kept = uuid.slice(0, 8);
      const message = `game:a has ref ${kept} of provider panel-eu; pass --shared to allow a second server\n`;
      for (const ref of [uuid, uuid.slice(0, 8), uuid.toUpperCase(), uuid.slice(0, 8).toUpperCase()]) {
        expect(await add('game:b', 'panel-eu', ref)).toEqual(refused(message));
        expect(await add('game:other', 'panel-eu', ref, '--replace')).toEqual(refused(message));
        expect((await add('game:a', 'panel-eu', ref)).stdout).toBe('game:a is already added\n');
      }
      // For concurrent commands, the store refuses the second.
      const record = { server: 'game:b', provider: 'panel-eu', ref: kept, logFile: null } as const;
      await expect(store.servers.put(record)).rejects.toThrow('UNIQUE');
      expect(await store.servers.list()).toMatchObject([{ ref: kept }, { ref: '1a7ce998' }]);
      expect(await add('game:b', 'panel-eu', uuid, '--shared')).toEqual(succeeded('game:b is added\n'));
    },
  );

  test.each([uuid, uuid.toUpperCase(), '1A7CE997'])('is found in the record of an early version: %s', async (old) => {
    const { add, store } = await createWithProviders();
    await store.servers.put({ server: 'game:a', provider: 'panel-eu', ref: old, logFile: null });
    expect((await add('game:b', 'panel-eu', uuid)).stderr).toMatch(`game:a has ref ${old} of provider panel-eu`);
    expect((await add('game:a', 'panel-eu', uuid)).stdout).toBe('game:a is already added\n');
  });

  test('may have a name in capitals that is another server, if its provider is no panel', async () => {
    const names = '{ deadbeef: { kind: game, command: [x] }, DEADBEEF: { kind: game, command: [x] } }';
    const { add, store } = await createWithProviders(`providers: { here: { type: local, servers: ${names} } }\n`);
    expect((await add('game:a', 'here', 'DEADBEEF')).stdout).toBe('game:a is added\n');
    expect((await add('game:b', 'here', 'deadbeef')).stdout).toBe('game:b is added\n');
    expect((await add('game:c', 'here', 'deadbeef')).status).toBe(1);
    expect(await store.servers.list()).toMatchObject([{ ref: 'DEADBEEF' }, { ref: 'deadbeef' }]);
  });
});

test('a missing server can be added with --replace', async () => {
  const { add } = await createWithProviders();
  expect((await add('vps:a', 'fsn', '4711', '--replace')).stdout).toBe('vps:a is added\n');
});
