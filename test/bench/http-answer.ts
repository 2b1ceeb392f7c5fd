/** The total length of a response. Undefined until its head is complete; 0 if it has no Content-Length. */
export function lengthOf(answer: Buffer, status: number): number | undefined {
  const ended = answer.indexOf('\r\n\r\n');
  if (ended < 0) return undefined;
  const [, content] = /\r\ncontent-length: (\d+)/i.exec(answer.toString('latin1', 0, ended)) ?? [];
  if (content === undefined && status !== 304) return 0;
  return ended + 4 + (status === 304 ? 0 : Number(content));
}
