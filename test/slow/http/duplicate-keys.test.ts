import { testDuplicateKeys } from '../../http/duplicate-keys.ts';

// The million: DUPLICATE_KEY_INPUTS=1000000 npx vitest run test/slow/http/duplicate-keys.test.ts
testDuplicateKeys(Number(process.env['DUPLICATE_KEY_INPUTS'] ?? 20_000));
