import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, test } from 'vitest';
import { ends } from '../helpers/ends.ts';
import type { OnEnd } from '../helpers/upstream.ts';
import { bytes, brokenRows, limitedRows, requestRows, targetRows } from './targets/rows.ts';
import type { Row } from './targets/rows.ts';
import { buildTargets, exchangeRow, nextAddress, rowSettings, serveTargets, toCases } from './targets/serving.ts';
import type { Served } from './targets/serving.ts';
import { exchange, toShortRecord } from './targets/wire.ts';

// Every answer is compared with the snapshot: status line, headers, body and the state of the
// connection. To accept a changed answer, run `vitest run test/http/targets.test.ts -u`.

const onEnd: OnEnd = (end) => void ends.push(end);
let root: string;

beforeAll(async () => {
  root = await buildTargets(onEnd);
});

const serve = (settings: Readonly<Record<string, string>>, fails = false): Promise<Served> =>
  serveTargets({ root, settings, fails, onEnd });

async function recordRow(served: Served, row: Row): Promise<string> {
  const { recorded, isVolatile } = await exchangeRow(served, row);
  return toShortRecord(recorded, isVolatile);
}

describe('a server', () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve(rowSettings);
  });

  describe.each(Object.entries({ ...targetRows, ...requestRows }))('answers to %s', (_, group) => {
    test.each(toCases(group))('%s', async (_name, row) => {
      expect(await recordRow(served, row)).toMatchSnapshot('answer');
    });
  });

  test.each(Object.entries(bytes))('answers to %s', async (_, sent) => {
    const recorded = await exchange(served.port, Buffer.from(sent, 'latin1'), nextAddress());
    expect(toShortRecord(recorded, false)).toMatchSnapshot('answer');
  });
});

describe('a server with a client over its limit', () => {
  let served: Served;
  beforeAll(async () => {
    const limits = ['', 'CONTENT_'].map((name) => ({ [`${name}RATELIMIT_RPS`]: '1', [`${name}RATELIMIT_BURST`]: '1' }));
    served = await serve(Object.assign({ CORS_ORIGINS: 'https://www.example.com' }, ...limits));
  });

  test.each(toCases(limitedRows))('%s', async (_, row) => {
    // On a busy machine a second may pass between both requests, and the bucket is full again.
    let recorded = '';
    for (let tries = 0; tries < 10 && !recorded.includes(' 429 '); tries += 1) {
      recorded = await recordRow(served, ['GET /v1/info', 'GET /v1/plans', row as string]);
    }
    expect(recorded).toMatchSnapshot('answer');
  });
});

describe('a server with failing store and upstreams', () => {
  let served: Served;
  beforeAll(async () => {
    const sound = await serve({ CORS_ORIGINS: '*,https://www.example.com' }, true);
    const keys = await sound.issueKeys();
    const database = new DatabaseSync(join(sound.dataDir, 'hosting.sqlite'));
    database.exec('ALTER TABLE hosting_api_keys RENAME TO lost');
    database.close();
    served = { ...sound, issueKeys: () => Promise.resolve(keys) };
  });

  test.each(toCases(brokenRows))('%s', async (_, row) => {
    expect(await recordRow(served, row)).toMatchSnapshot('answer');
  });
});
