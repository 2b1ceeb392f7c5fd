import { writeFileSync } from 'node:fs';

// Loaded into a process by --import: at its end it writes down the most memory that it ever had, in KiB.
process.on('exit', () => {
  writeFileSync(process.env.PEAK_MEMORY_FILE!, String(process.resourceUsage().maxRSS));
});
