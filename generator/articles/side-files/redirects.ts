import { toFile } from './side-file.ts';
import type { SideFile } from './side-file.ts';

/** The former paths of articles, for the redirects of a website. */
export const redirects: SideFile = ({ aliases }) => [toFile('redirects', aliases)];
