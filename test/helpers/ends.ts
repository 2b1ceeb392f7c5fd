/** What the tests of one file share and must end when the file is done; `test/setup.ts` does that. */
export const ends: (() => void | Promise<void>)[] = [];
