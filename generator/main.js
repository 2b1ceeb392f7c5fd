#!/usr/bin/env node
import module from 'node:module';
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import '#common/check-node.js';

// Without the cache, each start strips the types of all files, which takes longer than a build without changes. This file
// is JavaScript because loading the type stripper takes 25 ms.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/hosting-api'));
// Rendering produces much garbage: by default, the heap grows to 600 MB for 60 MB of live data without being faster.
setFlagsFromString('--heap-growing-percent=40');
// With pretenuring, V8 allocates parts of articles in the old generation, where they and everything they reference stay
// until the next full collection. That made every other build a third slower.
setFlagsFromString('--no-allocation-site-pretenuring');
// As in server/env.ts, for `--against URL`.
setDefaultAutoSelectFamilyAttemptTimeout(2500);
const { runGenerator } = await import('./commands/index.ts');

const status = await runGenerator(process.argv.slice(2));
// A build with errors has set the exit code already.
if (status !== 0) process.exitCode = status;
