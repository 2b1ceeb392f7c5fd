import { describe, expect, test } from 'vitest';
import { describePostgres } from '../../helpers/postgres.ts';
import { askEndpoint } from '../../server/ask.ts';
import type { SharedApp } from '../../server/shared.ts';
import { createInstances } from '../../hosting/instances.ts';

async function readState(app: SharedApp): Promise<string> {
  const { status, text } = await askEndpoint(app, 'getVpsState');
  expect(status).toBe(200);
  return (JSON.parse(text) as { state: string }).state;
}

/** Tests with one kind of store, shared by two instances. */
function stateSuite(createDatabase: () => Promise<string | undefined>): void {
  test('an action on one instance is in the next answers of the other, with at most one more list', async () => {
    const { apps, world } = await createInstances(await createDatabase());
    const [one, other] = apps;
    const lists = () => world.hetzner.seen.filter(({ path }) => path.includes('per_page=50')).length;
    expect(await readState(other)).toBe('running');
    expect((await askEndpoint(one, 'stopVps')).status).toBe(200);
    const readers = await Promise.all(Array.from({ length: 10 }, () => readState(other)));
    expect(new Set(readers)).toEqual(new Set(['offline']));
    expect(lists()).toBe(2);
    expect(await readState(other)).toBe('offline');
  });
}

describe('in a SQLite file', () => {
  stateSuite(() => Promise.resolve(undefined));
});
describePostgres((postgres) => stateSuite(() => postgres().createDatabase()));
