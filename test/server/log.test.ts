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
