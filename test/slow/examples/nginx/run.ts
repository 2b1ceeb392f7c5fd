import { onTestFinished } from 'vitest';
import { copyExample } from '../../../helpers/nginx-example.ts';
import type { ExampleFile, Places } from '../../../helpers/nginx-example.ts';
import type { RunNginx, RunningNginx } from '../../../helpers/nginx.ts';
import { until } from '../../../helpers/upstream.ts';
import type { OnEnd } from '../../../helpers/upstream.ts';

/** Starts nginx with a copy of an example, in which nothing but these places is changed. */
export async function runExample(
  run: RunNginx,
  file: ExampleFile,
  places: Places,
  onEnd: OnEnd = onTestFinished,
): Promise<RunningNginx & { readonly folder: string }> {
  let folder = '';
  const nginx = await run((own, free) => copyExample((folder = own), places.port ?? free, file, places));
  onEnd(() => nginx.stop());
  const { port = nginx.port } = places;
  let isListening = false;
  await until(`nginx listens: ${nginx.log()}`, () => {
    void fetch(`http://127.0.0.1:${port}/.up`, { redirect: 'manual' }).then(
      () => (isListening = true),
      () => {},
    );
    return isListening;
  });
  return { ...nginx, port, folder };
}
