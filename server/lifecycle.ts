import { answeredRequests } from './http/request.ts';
import type { Logger } from './log.ts';

/** What each part of the server gets when it is opened. */
export interface Base<Settings> {
  readonly env: Settings;
  readonly log: Logger;
  /** What closes the parts with the server, in reverse order. */
  readonly opened: AsyncDisposableStack;
  readonly report: (message: string) => (error: unknown) => void;
}

/** The readiness of this instance, and the work that it must complete before it stops. */
export type Lifecycle = ReturnType<typeof createLifecycle>;

/** Creates the lifecycle of an instance. It is ready while `canServe` returns true. */
export function createLifecycle(canServe: () => boolean = () => true) {
  let isDraining = false;
  const running = new Set<Promise<unknown>>();
  return {
    state(): 'ready' | 'unready' | 'draining' {
      if (isDraining) return 'draining';
      return canServe() ? 'ready' : 'unready';
    },
    drain(): void {
      isDraining = true;
    },
    /** Runs work that must complete before the process ends, even if its client disconnects. */
    finish<Value>(work: () => Promise<Value>): Promise<Value> {
      const promise = work();
      running.add(promise);
      const remove = (): boolean => running.delete(promise);
      promise.then(remove, remove);
      return promise;
    },
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

/** Parts would delay the first answer: they are opened after it or this time, whichever is first. */
const idleMs = 1000;

/** Opens parts of the server when needed, or soon after the first answer: an upgrade may replace their files. */
export function createLater(opened: AsyncDisposableStack) {
  const parts: (() => Promise<unknown>)[] = [];
  return {
    /** Returns what opens a part once. It is closed in the order of these calls, whenever it was opened. */
    later: <Part>(open: (own: AsyncDisposableStack) => Promise<Part>): (() => Promise<Part>) => {
      const own = new AsyncDisposableStack();
      let opening: Promise<Part> | undefined;
      opened.defer(async () => {
        await opening?.catch(() => undefined);
        await own.disposeAsync();
      });
      const part = () => (opening ??= open(own));
      parts.push(part);
      return part;
    },
    /** Opens all parts soon. One that fails ends the process by a rejection that no one handles. */
    openSoon: (): void => {
      const openAll = (): void => {
        stop();
        for (const part of parts) void part().then(() => undefined);
      };
      const timer = setTimeout(openAll, idleMs).unref();
      answeredRequests.subscribe(openAll);
      const stop = (): void => {
        clearTimeout(timer);
        answeredRequests.unsubscribe(openAll);
      };
      opened.defer(stop);
    },
  };
}
