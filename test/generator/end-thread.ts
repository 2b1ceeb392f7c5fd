import { syncBuiltinESMExports } from 'node:module';
import workerThreads from 'node:worker_threads';

// Loaded by --import into a process and each of its threads: what renders ends in the way that END_THREAD names, in the
// middle of its articles or at its start. Rendering asks for the CPU time before each article.
const { Worker, isMainThread } = workerThreads;
const way = process.env.END_THREAD!;
const article = 10;

function allocateAll(): never {
  for (const all: unknown[] = []; ;) all.push(Array(1e5).fill(0.5));
}

if (isMainThread) {
  // A default thread would first take gigabytes.
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
