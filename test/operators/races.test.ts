import { serveOperators } from './operators.ts';
import { racesSuite } from './races-suite.ts';

racesSuite(async () => {
  const served = await serveOperators();
  return { ...served, ports: [served.port] };
});
