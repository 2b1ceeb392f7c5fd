import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

// A terminal that goes away is no reason to stop.
process.on('SIGHUP', () => undefined);

// Two thirds of a start are spent on compiling; where the folder cannot be written, that is so each time. Not in the
// system's folder for temporary files, where others could put code in our place. This file is read before, so it has no
// types: what strips them takes 25 ms to load.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/hosting-api'));
// Where many requests are under way at a collection, V8 takes what they are made of for long-lived and makes it among what
// is old: all that hangs on it then lives until the next full collection. It doubled memory and p99, in one start of three.
setFlagsFromString('--no-allocation-site-pretenuring');
await import('./serve.ts');
