import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { describeInstalled } from '../../helpers/installed.ts';
import { runProgram, temporaryFolder } from '../../helpers/project.ts';
import { serve } from '../../helpers/upstream.ts';
import { createToken, serveOperators } from '../../operators/operators.ts';
import { askEndpoint } from '../../server/ask.ts';

const examples = resolve(import.meta.dirname, '../../../examples/billing');
const php = {
  name: 'PHP',
  package: 'php-cli php-curl php-sqlite3',
  commands: ['php'],
  files: ['curl', 'pdo_sqlite'].map((name) => globSync(`/usr/lib/php/*/${name}.so`)[0] ?? `${name}.so`),
};

type Call = readonly [name: string, ...values: unknown[]];

/** Serves an operators' port with a token, without customers' servers. */
async function createPort() {
  const operators = await serveOperators();
  const { servers } = operators.world.store;
  for (const { server } of await servers.list()) await servers.remove(server);
  return operators;
}

/** Runs calls in a stand-in for a billing system, in one process. */
async function runPhp<T>(script: string, folder: string, calls: readonly Call[]): Promise<T> {
  const file = join(temporaryFolder(), 'calls.json');
  writeFileSync(file, JSON.stringify(calls.map(([name, ...values]) => [name, values])));
  const stand = join(import.meta.dirname, 'billing', `${script}.php`);
  const { status, stdout, stderr } = await runProgram('php', ['-d', 'display_errors=stderr', stand, folder, file]);
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

/** Installs the module and the hooks in a WHMCS without services. */
async function createWhmcs() {
  const operators = await createPort();
  const folder = temporaryFolder();
  for (const [from, to] of [
    ['HostingApi.php', 'modules/servers/hostingapi/HostingApi.php'],
    ['whmcs/hostingapi.php', 'modules/servers/hostingapi/hostingapi.php'],
    ['whmcs/hooks.php', 'includes/hooks/hostingapi.php'],
  ])
    cpSync(join(examples, from!), join(folder, to!));
  const run = (...calls: Call[]) => runPhp<unknown[]>('whmcs', folder, calls);
  const query = (text: string): Call => ['query', text];
  /** Sets the address and the token of the port, as staff does. */
  const connectTo = (url: string, token = operators.token): Call => {
    const { protocol, hostname, port } = new URL(url);
    const secure = protocol === 'https:' ? 'on' : '';
    const password = Buffer.from(token).toString('base64');
    const values = `1, 'hostingapi', '${hostname}', '${port}', '${secure}', 'mc-', '${password}', 0`;
    return query(`REPLACE INTO tblservers VALUES (${values})`);
  };
  const url = `http://127.0.0.1:${operators.port}`;
  await run(connectTo(url));
  return {
    ...operators,
    command: operators.run,
    folder,
    url,
    run,
    query,
    connectTo,
    /** Adds an active service, whose ref staff enters. */
    addService: (id: number, ref = refOf(id), extra = {}): Call[] => [
      query(`INSERT INTO tblhosting VALUES (${id}, 'Active')`),
      [
        'AdminClientServicesTabFieldsSave',
        { id, hostingapi_provider: 'panel', hostingapi_ref: ref, hostingapi_server: '', ...extra },
      ],
    ],
    readActivity: async () =>
      ((await run(query('SELECT description FROM tblactivitylog')))[0] as { description: string }[]).map(
        ({ description }) => description,
      ),
    readServers: async () =>
      Object.fromEntries(
        (await operators.world.store.servers.list()).map(({ server, ref, suspendedAt }) => [
          server,
          suspendedAt === null ? ref : `${ref} suspended`,
        ]),
      ),
  };
}

const refOf = (id: number): string => id.toString(16).padStart(8, '0');
const event = (name: string, serviceid: number): Call => [`hostingapi_${name}Account`, { serviceid }];
const keyOf = (page: unknown): string | undefined => /<code>(hk_\w+)<\/code>/.exec(String(page))?.[1];
const newKey = (id: number, button = 'new'): Call => ['page', id, { hostingapi: button, token: 'form-token' }];
const wantedOf = (service: number, ref = refOf(service)) => {
  return { service, server: `game:mc-${service}`, provider: 'panel', ref, suspended: false };
};
const sorry = 'The API key cannot be changed at the moment. Please try again later or contact support.';

type Fault = 'hang' | 'lose' | 'html' | 'limit' | undefined;

/** Starts a port that forwards all requests, apart from faults by number. */
async function createProxy(target: string, faultOf: (number: number) => Fault) {
  const seen: { path: string; fault: Fault }[] = [];
  const url = await serve((request, response) => {
    const fault = faultOf(seen.length + 1);
    seen.push({ path: request.url!, fault });
    if (fault === 'hang') return;
    if (fault === 'limit') response.writeHead(429, { 'retry-after': '1' }).end('rate limit exceeded\n');
    else if (fault === 'html') response.setHeader('content-type', 'text/html').end('<h1>Just a moment...</h1>');
    else
      void (async () => {
        const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
        const { method, headers } = request;
        const init = {
          method: method!,
          headers: { authorization: headers.authorization!, 'content-type': 'application/json' },
        };
        const answer = await fetch(target + request.url!, method === 'GET' ? init : { ...init, body });
        const text = await answer.text();
        if (fault === 'lose') response.socket!.destroy();
        else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
      })();
  });
  return { url, seen };
}

describeInstalled(php, () => {
  test('each example is valid PHP', async () => {
    for (const file of globSync(`${examples}/**/*.php`))
      expect(await runProgram('php', ['-l', file])).toMatchObject({ status: 0 });
  });

  test('each event of WHMCS is done and may be repeated, or returns the reason', async () => {
    const { app, run, addService, readServers } = await createWhmcs();
    const results = await run(
      ...addService(7),
      ...addService(8, refOf(7)),
      event('Create', 7),
      // Staff edits an addon of the service.
      ['AdminClientServicesTabFieldsSave', { id: 7, aid: 1 }],
      event('Create', 7),
      event('Create', 8),
      event('Suspend', 8),
      event('Create', 9),
    );
    expect(results.slice(4)).toEqual([
      'success',
      null,
      'success',
      expect.stringMatching(/^service 8, game:mc-8: .*game:mc-7.* \(status 409\)$/),
      'service 8, game:mc-8: There is no server game:mc-8 (status 404)',
      'service 9: enter its provider and ref on its page in the admin area',
    ]);
    const [page] = await run(newKey(7));
    const customer = { ...app, key: keyOf(page)! };
    const statusOf = async () => (await askEndpoint(customer, 'listServers')).status;
    expect(await statusOf()).toBe(200);
    const twice = (name: string) => run(event(name, 7), event(name, 7));
    expect(await twice('Suspend')).toEqual(['success', 'success']);
    expect(await readServers()).toEqual({ 'game:mc-7': `${refOf(7)} suspended` });
    expect(await twice('Unsuspend')).toEqual(['success', 'success']);
    expect(await readServers()).toEqual({ 'game:mc-7': refOf(7) });
    expect(await twice('Terminate')).toEqual(['success', 'success']);
    expect(await readServers()).toEqual({});
    expect(await statusOf()).toBe(401);
    expect(await run(event('Create', 8))).toEqual(['success']);
  });

  test('each wrong token or address has its own reason', async () => {
    const { app, port, world, run, addService, connectTo, url, readServers } = await createWhmcs();
    await run(...addService(7), event('Create', 7));
    const { token: other } = await createToken(world, 'elsewhere', '--right', 'servers', '--network', '192.0.2.0/24');
    const wrong = `ho_${'A'.repeat(12)}_${'b'.repeat(49)}`;
    const rows: [url: string, token: string | undefined, reason: RegExp][] = [
      [url, wrong, /^Malformed .* \(status 401\)$/],
      [url, await world.issueKey(), /^The token must begin with ho_/],
      [url, other, /127\.0\.0\.1.* \(status 403\)$/],
      [app.url, undefined, /^http:\/\/127\.0\.0\.1:\d+ is not the operators' port; it may be the public port$/],
      [
        `http://127.0.0.1:${await findFreePort()}`,
        undefined,
        /^The operators' port does not answer \(Couldn't connect to server\)$/,
      ],
      [`https://127.0.0.1:${port}`, undefined, /^The operators' port does not answer \(SSL connect error\)$/],
      [
        await serve((_, response) => response.writeHead(403).end('{"success":false,"message":"<script>\\n"}')),
        undefined,
        /^ script {3}\(status 403\)$/,
      ],
      ['http://operators.example.com:80', undefined, /^The address of the operators' port must be https:\/\/HOST:PORT/],
    ];
    for (const [address, token, reason] of rows) {
      const results = await run(
        connectTo(address, token),
        event('Suspend', 7),
        event('Terminate', 7),
        event('Create', 7),
      );
      const [first, ...others] = results.slice(1) as string[];
      expect(first).toMatch(/^service 7, game:mc-7: /);
      expect(first!.slice('service 7, game:mc-7: '.length)).toMatch(reason);
      // The first failure of a port is enough for the process.
      for (const result of others)
        expect([first, "service 7, game:mc-7: The operators' port failed less than a minute ago"]).toContain(result);
    }
    expect(await readServers()).toEqual({ 'game:mc-7': refOf(7) });
  });

  test('the daily run is right after any failure of the port, and waits once for a port that hangs', async () => {
    const whmcs = await createWhmcs();
    const { run, query, connectTo, url, readServers } = whmcs;
    const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)';
    await run(
      ['AdminClientServicesTabFields', { id: 1 }],
      query(`${numbers} INSERT INTO tblhosting SELECT i, iif(i % 10, 'Active', 'Suspended') FROM n`),
      query(`${numbers} INSERT INTO mod_hostingapi SELECT i, 'game:mc-' || i, 'panel', printf('%08x', i) FROM n`),
    );
    const daily: Call = ['DailyCronJob', []];
    const faults: [name: string, faultOf: (number: number) => Fault][] = [
      ['hangs at the first call', () => 'hang'],
      ['hangs at the list', (number) => (number > 1 ? 'hang' : undefined)],
      ['hangs at a change', (number) => (number > 40 ? 'hang' : undefined)],
      ['loses replies', (number) => (number > 80 ? 'lose' : undefined)],
      ['answers HTML', (number) => (number > 40 ? 'html' : undefined)],
    ];
    await run(connectTo(`http://127.0.0.1:${await findFreePort()}`), daily);
    expect(await readServers()).toEqual({});
    for (const [name, faultOf] of faults) {
      const before = Object.keys(await readServers()).length;
      const proxy = await createProxy(url, faultOf);
      // Without an answer, the events of the same process do not wait either.
      const [, , result] = await run(connectTo(proxy.url), daily, event('Suspend', 1));
      expect(result, name).toMatch(/port failed less than a minute ago$/);
      expect(proxy.seen.filter(({ fault }) => fault === 'hang').length, name).toBe(name.startsWith('hangs') ? 1 : 0);
      expect(Object.keys(await readServers()).length, name).toBeGreaterThanOrEqual(before);
    }
    const notes = (await whmcs.readActivity()).filter((note) => note.includes('the run has ended'));
    expect(notes).toHaveLength(3);

    // A cron job waits for a limit.
    const limiting = await createProxy(url, (number) => (number === 5 ? 'limit' : undefined));
    await run(connectTo(limiting.url), daily);
    const ids = Array.from({ length: 300 }, (_, index) => index + 1);
    const wanted = Object.fromEntries(
      ids.map((id) => [`game:mc-${id}`, id % 10 === 0 ? `${refOf(id)} suspended` : refOf(id)]),
    );
    expect(await readServers()).toEqual(wanted);
    await run(daily);
    expect((await whmcs.readActivity()).at(-1)).toBe(
      'Hosting API: {"created":0,"changed":0,"suspended":0,"resumed":0,"same":300,"complete":true}',
    );

    // A lost reply loses a text: the next try makes another one for the same key.
    const losing = await createProxy(url, (number) => (number > 1 ? 'lose' : undefined));
    const [, lost] = await run(connectTo(losing.url), newKey(1));
    expect(lost).toContain(sorry);
    // curl repeats calls, but a second secret would end the overlap of the first.
    const rotating = await createProxy(url, (number) => (number > 1 ? 'lose' : undefined));
    await run(connectTo(rotating.url), newKey(1));
    expect(rotating.seen.filter(({ path }) => path.endsWith('/rotate'))).toHaveLength(1);
    const pages = await run(connectTo(url), ...ids.slice(0, 30).map((id) => newKey(id)));
    const texts = pages.slice(1).map(keyOf);
    // Suspended services have no form.
    expect(texts.filter((text) => text === undefined)).toHaveLength(3);
    const keys = (await whmcs.world.store.apiKeys.list()).map(({ label }) => label);
    expect(keys.filter((label) => label.startsWith('service ')).toSorted()).toEqual(
      ids
        .slice(0, 30)
        .filter((id) => id % 10 !== 0)
        .map((id) => `service ${id}`)
        .toSorted(),
    );
  });

  test('a list that is empty, short or broken suspends nobody; a few services without an order are suspended', async () => {
    const { run, addService, readServers, world } = await createWhmcs();
    const ids = Array.from({ length: 20 }, (_, index) => index + 1);
    const wanted = ids.map((id) => wantedOf(id));
    const refuses = (text: string) => ({ suspended: 0, complete: false, notes: [expect.stringContaining(text)] });
    const first: Call[] = [
      ['bring', wanted.slice(0, 3), 'mc-'],
      ['bring', [], 'mc-'],
      ['bring', wanted, 'mc-'],
    ];
    expect(await run(...first)).toMatchObject([
      { created: 3, complete: true, notes: [] },
      refuses('3 of 3 servers have no service'),
      { created: 17, same: 3, complete: true, notes: [] },
    ]);
    // Servers of staff and with another prefix are left alone.
    await world.store.servers.put({ server: 'game:mc-staff', provider: 'panel', ref: 'ffffffff', logFile: null });
    await run(...addService(50, refOf(50), { hostingapi_server: 'game:other-50' }), event('Create', 50));
    expect(
      await run(
        ['bring', wanted.slice(10), 'mc-'],
        ['brings', wanted.slice(0, 19), 'mc-'],
        ['bring', [...wanted.slice(0, 19), wanted[0]], 'mc-'],
        ['bring', wanted, ''],
      ),
    ).toMatchObject([
      refuses('10 of 20 servers have no service'),
      'DomainException: the database is gone',
      refuses('two services have game:mc-1'),
      refuses('the prefix of the server IDs is empty'),
    ]);
    const isSuspended = async () => Object.values(await readServers()).filter((text) => text.endsWith('suspended'));
    expect(await isSuspended()).toEqual([]);
    const rest = wanted.slice(0, 18);
    expect(
      await run(['bring', rest, 'mc-'], ['bring', rest, 'mc-'], ['bring', rest.slice(9), 'mc-', true]),
    ).toMatchObject([
      {
        suspended: 2,
        same: 18,
        complete: true,
        notes: [/19: suspended, as it has/, /20: suspended, as it has/].map((text) => expect.stringMatching(text)),
      },
      { suspended: 0, same: 18, complete: true, notes: [] },
      { suspended: 9, same: 9, complete: true },
    ]);
    expect(await isSuspended()).toHaveLength(11);
  });

  test('a moved server is replaced, and what staff added or suspended is left to staff', async () => {
    const { run, readServers, world, command } = await createWhmcs();
    const service = (id: number, ref = `${refOf(id)}-1111-4222-8333-444444444444`) => wantedOf(id, ref);
    const put = (id: number, ref: string) =>
      world.store.servers.put({ server: `game:mc-${id}`, provider: 'panel', ref, logFile: 'logs/own.log' });
    await put(2, refOf(2));
    await put(3, 'aaaaaaaa');
    const both = [service(1), service(2)];
    // The UUID of a panel's server is its short ref.
    expect(await run(['bring', both, 'mc-'], ['bring', both, 'mc-'])).toMatchObject([
      { created: 1, changed: 1, complete: true },
      { same: 2, complete: true },
    ]);
    await command('servers', 'suspend', 'game:mc-1');
    const [report] = await run(['bring', [service(1), service(2, 'bbbbbbbb'), service(3)], 'mc-']);
    expect(report).toMatchObject({
      changed: 1,
      complete: true,
      notes: [
        expect.stringMatching(/^service 1, game:mc-1: .*suspended by staff.* \(status 409\)$/),
        expect.stringMatching(/^service 3, game:mc-3: .*\(status 409\)$/),
      ],
    });
    expect(await readServers()).toEqual({
      'game:mc-1': expect.stringMatching(/^00000001.* suspended$/),
      'game:mc-2': 'bbbbbbbb',
      'game:mc-3': 'aaaaaaaa',
    });
    expect(await world.store.servers.find('game:mc-2')).toMatchObject({ logFile: 'logs/own.log' });
  });

  test('what a customer puts into the cart opens nothing', async () => {
    const { run, query, readServers } = await createWhmcs();
    const cart = { provider: 'panel', ref: refOf(1), server: 'game:mc-1' };
    const [, result] = await run(
      query(`INSERT INTO tblhosting VALUES (7, 'Active')`),
      [
        'hostingapi_CreateAccount',
        { serviceid: 7, ...cart, configoptions: cart, customfields: cart, domain: refOf(1) },
      ],
      ['AfterModuleCreate', { params: { serviceid: 7, moduletype: 'pterodactyl', ...cart, customfields: cart } }],
      ['DailyCronJob', []],
    );
    expect(result).toMatch(/^service 7: enter its provider and ref/);
    expect(await readServers()).toEqual({});
  });

  test('a customer gets a new key on the page of the service, and its text is stored nowhere', async () => {
    const whmcs = await createWhmcs();
    const { app, run, query, addService, connectTo, folder, world, token } = whmcs;
    const [, , , plain, forged, ...pages] = await run(
      ...addService(7),
      event('Create', 7),
      ['page', 7, {}],
      ['page', 7, { hostingapi: 'new' }],
      newKey(7),
      newKey(7),
      newKey(7, 'leaked'),
    );
    expect([plain, forged].map(keyOf)).toEqual([undefined, undefined]);
    const keys = pages.map((page) => keyOf(page)!);
    expect(new Set(keys).size).toBe(3);
    const statusOf = async (key: string) => (await askEndpoint({ ...app, key }, 'listServers')).status;
    // The leaked secret and the one before have ended.
    expect(await Promise.all(keys.map(statusOf))).toEqual([401, 401, 200]);
    const [, next] = (await run(newKey(7), query('SELECT 1'))).map(keyOf);
    expect(next).toBeUndefined();
    expect(await statusOf(keys[2]!)).toBe(200);
    const [, , away] = await run(connectTo(`http://127.0.0.1:${await findFreePort()}`), ['page', 8, {}], newKey(7));
    expect(away).toContain(sorry);
    expect(away).not.toMatch(/127\.|operators/);
    expect((await whmcs.readActivity()).at(-1)).toMatch(
      /^Hosting API, new key: service 7, game:mc-7: .*Couldn't connect to server/,
    );
    const stored = globSync(
      ['**/*.sqlite*', 'data/**'].map((path) => `{${folder},${world.settings.DATA_DIR!}}/${path}`),
    ).map((file) => readFileSync(file, 'latin1'));
    const written = [...stored, JSON.stringify(app.log())].join('\n');
    expect(written).toContain('service 7');
    for (const secret of [token, ...keys]) expect(written).not.toContain(secret.slice(16));
  });

  test('beside the module of a panel, the hooks follow its events', async () => {
    const { run, query, addService, readServers, readActivity } = await createWhmcs();
    const hook = (name: string, serviceid: number, moduletype = 'pterodactyl'): Call => [
      `AfterModule${name}`,
      { params: { serviceid, moduletype } },
    ];
    const states: unknown[] = [];
    // Our own module has made the call itself.
    await run(...addService(7), ...addService(8, refOf(7)), hook('Create', 7, 'hostingapi'));
    expect(await readServers()).toEqual({});
    for (const name of ['Create', 'Suspend', 'Unsuspend', 'Terminate']) {
      await run(hook(name, 7));
      states.push(await readServers());
    }
    expect(states).toEqual([
      { 'game:mc-7': refOf(7) },
      { 'game:mc-7': `${refOf(7)} suspended` },
      { 'game:mc-7': refOf(7) },
      {},
    ]);
    expect(await readActivity()).toEqual([]);
    await run(hook('Create', 7), hook('Create', 8));
    expect(await readActivity()).toEqual([
      expect.stringMatching(/^Hosting API, Create: service 8, game:mc-8: .*\(status 409\)$/),
    ]);
    // Staff edits the status, without an event.
    await run(query(`UPDATE tblhosting SET domainstatus = 'Cancelled' WHERE id = 7`), ...addService(9), [
      'DailyCronJob',
      [],
    ]);
    expect(await readServers()).toEqual({ 'game:mc-7': `${refOf(7)} suspended`, 'game:mc-9': refOf(9) });
  });

  test('the extension of FOSSBilling supplies the orders, at events and at each cron run', async () => {
    const { app, port, token, world } = await createPort();
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'modules'));
    cpSync(join(examples, 'fossbilling/Hostingapi'), join(folder, 'modules/Hostingapi'), { recursive: true });
    cpSync(join(examples, 'HostingApi.php'), join(folder, 'modules/Hostingapi/HostingApi.php'));
    const setToken = (text: string) =>
      writeFileSync(
        join(folder, 'config.json'),
        JSON.stringify({ url: `http://127.0.0.1:${port}`, token: text, prefix: 'fb-' }),
      );
    setToken(token);
    const run = (...calls: Call[]) => runPhp<[unknown[], string[]]>('fossbilling', folder, calls);
    const order = (id: number, status: string): Call => [
      'query',
      `REPLACE INTO client_order VALUES (${id}, 40, '${status}', '{"provider":"panel","ref":"${refOf(id)}"}')`,
    ];
    const readServers = async () =>
      (await world.store.servers.list()).map(({ server, suspendedAt }) => [server, suspendedAt !== null]);
    const cron: Call = ['onAfterAdminCronRun'];
    const save = (id: number, ref: string): Call => [
      'save_server',
      { order_id: id, provider: 'panel', ref, server: '' },
    ];
    // The configuration of an order, which the customer writes in the cart, opens nothing.
    expect((await run(order(7, 'active'), order(8, 'active'), ['onAfterAdminOrderActivate', 7], cron))[1]).toEqual([]);
    expect(await readServers()).toEqual([]);
    const orderEvent = (name: string, id: number): Call => [`onAfterAdminOrder${name}`, id];
    await run(save(7, refOf(7)), orderEvent('Activate', 7), orderEvent('Activate', 7));
    expect(await readServers()).toEqual([['game:fb-7', false]]);
    await run(order(7, 'suspended'), orderEvent('Suspend', 7));
    expect(await readServers()).toEqual([['game:fb-7', true]]);
    const [keys] = await run(
      order(7, 'active'),
      ['new_key', 40, { order_id: 7 }],
      ['new_key', 41, { order_id: 7 }],
      orderEvent('Unsuspend', 7),
    );
    expect(keys.slice(1, 3)).toEqual([expect.stringMatching(/^hk_/), 'Order not found']);
    expect((await askEndpoint({ ...app, key: String(keys[1]) }, 'listServers')).status).toBe(200);
    // Lost events: an order was activated, another one canceled.
    const [, notes] = await run(save(8, refOf(8)), order(7, 'canceled'), cron, cron);
    expect(await readServers()).toEqual([
      ['game:fb-7', true],
      ['game:fb-8', false],
    ]);
    expect(notes).toEqual(['Hosting API: game:fb-7: suspended, as it has no service']);
    setToken('hk_customer');
    const [shown, logged] = await run(['new_key', 40, { order_id: 8 }], ['widgets']);
    expect(shown).toEqual([sorry, [true]]);
    expect(logged).toEqual([expect.stringMatching(/^Hosting API: The token must begin with ho_/)]);
  });
});
