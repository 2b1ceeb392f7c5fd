import type { Finding } from './types.ts';

/** Whether a status refuses a credential. All others say nothing about it: 429, 503, or the page of a proxy. */
export const refusesCredential = (status: number): boolean => status === 401 || status === 403;

/** What a check found if its upstream answered, but neither accepted nor refused the credential. */
export const answersWith = (upstream: string, status: number): Finding => ({
  level: 'warn',
  message: `${upstream} answers with status ${status}`,
  advice: 'see what fails there or in a proxy before it, and that the url of PROVIDERS_FILE is right',
  isUnreachable: true,
});
