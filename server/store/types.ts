export type * from './audit.ts';
export type * from './index.ts';
export type * from './keys.ts';
