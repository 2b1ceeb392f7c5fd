import module from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { checkNode } from '#common/check-node.js';

checkNode();

// Keeps running when the terminal is closed.
process.on('SIGHUP', () => undefined);

// Compiling takes two thirds of the start without this cache. It is not in the system's temporary folder, where other
// users could inject code. This file is JavaScript, since loading the type stripper takes 25 ms and is not cached yet.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/hosting-api'));
// Under load V8 may assume that the objects of requests are long-lived, and allocate them in the old generation until the
// next full collection. In one start of three, that doubled memory and p99.
setFlagsFromString('--no-allocation-site-pretenuring');
await import('./serve.ts');
