/** How long an answer is in all; unknown while its head is not there, and 0 where it does not say. */
export function lengthOf(answer: Buffer, status: number): number | undefined {
  const ended = answer.indexOf('\r\n\r\n');
  if (ended < 0) return undefined;
  const [, content] = /\r\ncontent-length: (\d+)/i.exec(answer.toString('latin1', 0, ended)) ?? [];
  if (content === undefined && status !== 304) return 0;
  return ended + 4 + (status === 304 ? 0 : Number(content));
}
