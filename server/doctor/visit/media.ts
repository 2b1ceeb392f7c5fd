import { fault, ok, skipped } from '../finding.ts';
import type { Check } from './types.ts';

const noPicture = 'no article has a picture';

/** Whether films can be sought in. */
export const ranges: Check = {
  name: 'ranges of media',
  async run({ visit, picture }) {
    if (picture === undefined) return skipped(noPicture);
    const { status, bytes, header } = await visit(picture, { headers: { Range: 'bytes=0-9' } });
    if (status === 206 && bytes.length === 10) return ok(`206, ${header('content-range')}`);
    return fault(`Range is answered ${status} with ${bytes.length} bytes`, 'pass on Range and If-Range to the service');
  },
};

/** Whether generated clients, which encode slashes in a path, reach media. */
export const slashes: Check = {
  name: 'encoded slashes',
  async run({ visit, picture }) {
    if (picture === undefined) return skipped(noPicture);
    const encoded = `/media/${encodeURIComponent(picture.slice('/media/'.length))}`;
    const { status } = await visit(encoded);
    if (status === 200) return ok('%2F in the path of a picture');
    return fault(
      `${encoded} is answered ${status}`,
      'pass on the target as it was sent (nginx: no path in proxy_pass; Apache: AllowEncodedSlashes NoDecode)',
    );
  },
};
