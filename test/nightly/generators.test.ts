import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startDemo } from '../helpers/demo.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { runProgram, temporaryFolder } from '../helpers/project.ts';

// Each folder has a script that generates a client from the OpenAPI document, compiles the client strictly, and calls
// the demo: responses, errors, and an action until its end.

const scripts = join(import.meta.dirname, 'generators');
const tools = resolve(import.meta.dirname, '../../node_modules/.cache/generators');

/** The languages, with the programs and Debian packages that their generators need. */
const languages = {
  Python: { clients: ['python'], commands: ['python3'], package: 'python3-venv' },
  // PyPI has a compiler of Go.
  Go: { clients: ['go-oapi-codegen', 'go-ogen'], commands: ['python3'], package: 'python3-venv' },
  Java: {
    clients: ['java'],
    commands: ['javac', 'mvn', 'python3'],
    package: 'default-jdk-headless maven python3-venv',
  },
  Ruby: {
    clients: ['ruby'],
    commands: ['java', 'python3', 'ruby'],
    package: 'ruby-typhoeus default-jre-headless python3-venv',
  },
  TypeScript: { clients: ['typescript'], commands: ['npm'], package: 'npm' },
};

describe.each(Object.entries(languages))('%s', (name, { clients, ...program }) => {
  describeInstalled({ name, ...program }, () => {
    test.each(clients)('%s is generated, compiled strictly and called', async (client) => {
      const { url, key } = await startDemo({ POWER_RATELIMIT_BURST: '100', READ_RATELIMIT_BURST: '1000' });
      const folder = temporaryFolder();
      cpSync(join(scripts, client), folder, { recursive: true });
      writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${url}/v1/openapi.json`)).text());
      mkdirSync(tools, { recursive: true });
      const env = { ...process.env, API: url, KEY: key, TEST: scripts, TOOLS: tools };
      const { status, stdout, stderr } = await runProgram('bash', ['run.sh'], { cwd: folder, env });
      if (status === 75 && process.env.CI !== 'true') {
        // eslint-disable-next-line no-console
        return console.warn(stderr);
      }
      expect(status, stdout + stderr).toBe(0);
    });
  });
});
