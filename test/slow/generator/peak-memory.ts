import { writeFileSync } from 'node:fs';

// Loaded with --import into a process. On exit, writes the peak memory in KiB and the CPU time in microseconds to a file.
process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  writeFileSync(process.env.PEAK_MEMORY_FILE!, `${maxRSS} ${userCPUTime + systemCPUTime}`);
});
