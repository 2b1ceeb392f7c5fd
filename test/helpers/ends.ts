/** Cleanups of resources shared by the tests of one file; `test/setup.ts` runs them after the file. */
export const ends: (() => void | Promise<void>)[] = [];
