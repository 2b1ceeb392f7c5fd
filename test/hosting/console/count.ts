import type { Message } from '../../helpers/console-client.ts';

/** What a viewer of numbered lines received. */
export interface Count {
  readonly received: number;
  /** The number of lines that gap messages reported as dropped. */
  readonly dropped: number;
  /** The number of lines out of sequence, apart from reported gaps. */
  readonly wrong: number;
}

/** Counts numbered lines and checks that each gap message gives the exact number of missing lines. */
export function createCounter(): { see(message: Message): void; count(): Count } {
  let received = 0;
  let dropped = 0;
  let wrong = 0;
  return {
    see([event, text]) {
      if (event === 'gap') dropped += Number.parseInt(text!, 10);
      if (event !== 'console output') return;
      if (Number.parseInt(text!, 10) !== received + dropped) wrong += 1;
      received += 1;
    },
    count: () => ({ received, dropped, wrong }),
  };
}
