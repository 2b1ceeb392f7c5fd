import { syncBuiltinESMExports } from 'node:module';
import workerThreads from 'node:worker_threads';

// Loaded with --import into a process and its threads. Ends render threads as END_THREAD tells: at their start, or after some
// articles, counted by the calls of threadCpuUsage before each article.
const { Worker, isMainThread } = workerThreads;
const way = process.env.END_THREAD!;
const article = 10;

function allocateAll(): never {
  for (const all: unknown[] = []; ;) all.push(Array(1e5).fill(0.5));
}

if (isMainThread) {
  // Without this limit, a thread would first allocate gigabytes.
  workerThreads.Worker = class extends Worker {
    constructor(file: string | URL, options?: workerThreads.WorkerOptions) {
      super(file, { ...options, resourceLimits: { ...options?.resourceLimits, maxOldGenerationSizeMb: 48 } });
    }
  };
  syncBuiltinESMExports();
} else if (way === 'start') {
  process.exit(9);
} else {
  let articles = 0;
  const threadCpuUsage = process.threadCpuUsage.bind(process);
  process.threadCpuUsage = (before) => {
    articles += 1;
    if (articles === article) endThread();
    return threadCpuUsage(before);
  };
}

function endThread(): void {
  if (way === 'exit') process.exit(7);
  if (way === 'memory') allocateAll();
  if (way === 'throw') {
    queueMicrotask(() => {
      throw new Error('out of order');
    });
  }
}
