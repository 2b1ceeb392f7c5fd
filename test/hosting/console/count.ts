import type { Message } from '../../helpers/console-client.ts';

/** What a viewer of numbered lines was sent. */
export interface Count {
  readonly received: number;
  /** Lines that a gap said were dropped. */
  readonly dropped: number;
  /** Lines that were not the next one, nor the next after a gap. */
  readonly wrong: number;
}

/** Counts numbered lines, of which each gap must say exactly how many are missing before the next. */
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
