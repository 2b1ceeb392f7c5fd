import module from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import '#common/check-node.js';

// Keep running after the terminal is closed.
process.on('SIGHUP', () => undefined);

// Without this cache, the start takes twice as long. Other users could inject code into the system's temporary folder.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/hosting-api'));
// Under load, V8 may take the objects of requests for long-lived and allocate them in the old generation until the next
// full collection. In one start of three, that doubled memory and p99.
setFlagsFromString('--no-allocation-site-pretenuring');
await import('./serve.ts');
// A killed process would leave no cache for the next start.
module.flushCompileCache();
