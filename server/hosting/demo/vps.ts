/** A program that simulates a VPS: it boots, stays up, and shuts down on a signal. */

const booted = performance.now();

function print(text: string): void {
  process.stdout.write(`[${((performance.now() - booted) / 1000).toFixed(6).padStart(12)}] ${text}\n`);
}

const up = setInterval(() => print('systemd-timesyncd: clock synchronised'), 60_000);

function shutDown(): void {
  print('Stopped OpenSSH server');
  print('Reached target: power-off');
  clearInterval(up);
  process.stdin.destroy();
}
process.once('SIGTERM', shutDown);
process.once('SIGINT', shutDown);
// The parent process has ended.
process.stdin.once('end', shutDown).resume();
// Last, since a reader of these lines may stop the process at once.
for (const line of [
  'Booting the demo VPS',
  'Mounted root file system',
  'Started network: eth0 is up',
  'Started OpenSSH server',
  'Reached target: multi-user',
]) {
  print(line);
}
