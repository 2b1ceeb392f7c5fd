import { writeFileSync } from 'node:fs';

// Loaded into a process by --import: at its end it writes down the most memory that it ever had, in KiB, and its CPU in
// microseconds.
process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  writeFileSync(process.env.PEAK_MEMORY_FILE!, `${maxRSS} ${userCPUTime + systemCPUTime}`);
});
