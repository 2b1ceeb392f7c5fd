import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// A terminal that goes away is no reason to stop.
process.on('SIGHUP', () => undefined);

// Two thirds of a start are spent on compiling; where the folder cannot be written, that is so each time. Not in the
// system's folder for temporary files, where others could put code in our place.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/hosting-api'));
await import('./serve.ts');
