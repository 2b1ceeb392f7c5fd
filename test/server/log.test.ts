import { expect, test } from 'vitest';
import { createLog, createPrettyFormat } from '../../server/log.ts';
import { findActing, withoutColours } from '../helpers/terminal.ts';

test.each(['json', 'pretty'] as const)(
  'an error of another system does not act on the terminal in the %s log',
  async (name) => {
    let log = '';
    const error = new Error('x\u001B[2J\u009B2J\r\b\u202Ey \\u001b');
    const format = name === 'pretty' ? createPrettyFormat() : undefined;
    createLog({ level: 'info', format, destination: { write: (line) => (log += line) } }).error(
      { err: error },
      'it failed',
    );
    expect(findActing(withoutColours(log))).toEqual([]);
    expect(log).toMatch(/x\\+u001b\[2J\\+u009b2J\\+r\\+b\\+u202ey \\+u001b/);
    expect(log).not.toContain('\u001B[2J');
  },
);

test('the pretty log has a line for each request, and a request that fails has more', () => {
  let log = '';
  const format = createPrettyFormat();
  const write = (line: string): void => void (log += line.replace(/^[\d:]{8}/, 'HH:MM:SS'));
  const own = createLog({ level: 'info', format, destination: { write } });
  const more = { id: 'an-id', ip: '192.0.2.1', agent: 'curl' };
  own.info({ ...more, method: 'GET', url: '/v1/plans', status: 200, ms: 1.5 }, 'request');
  own.info({ ...more, method: 'GET', url: '/v1/none', status: 404, ms: 2 }, 'request');
  own.info({ release: 'x' });
  own.error({ err: 'no stack' }, 'it failed');
  expect(log.split('\n')).toEqual([
    'HH:MM:SS GET /v1/plans 200 1.5 ms',
    'HH:MM:SS GET /v1/none 404 2 ms id=an-id ip=192.0.2.1 agent=curl',
    'HH:MM:SS null release=x',
    'HH:MM:SS error: it failed',
    '    no stack',
    '',
  ]);
});
