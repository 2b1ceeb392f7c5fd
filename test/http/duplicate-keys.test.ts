import { testDuplicateKeys } from './duplicate-keys.ts';

testDuplicateKeys(2_000);
