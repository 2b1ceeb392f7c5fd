import type { Message } from '../../helpers/console-client.ts';

/** What a viewer of numbered lines received. */
export type Count = ReturnType<ReturnType<typeof createCounter>['count']>;

/** Counts numbered lines and checks that each gap message gives the exact number of missing lines. */
export function createCounter() {
  let received = 0;
  let dropped = 0;
  let wrong = 0;
  return {
    see([event, text]: Message) {
      if (event === 'gap') dropped += Number.parseInt(text!, 10);
      if (event !== 'console output') return;
      if (Number.parseInt(text!, 10) !== received + dropped) wrong += 1;
      received += 1;
    },
    /** The lines, how many gap messages reported as dropped, and how many were out of sequence apart from these. */
    count: () => ({ received, dropped, wrong }),
  };
}
