import { describePostgres } from '../../helpers/postgres.ts';
import { serveOperators } from '../../operators/operators.ts';
import { racesSuite } from '../../operators/races-suite.ts';
import { operatorPorts } from '../../server/described.ts';
import { serveHosting } from '../../server/shared.ts';

describePostgres((server) => {
  racesSuite(async () => {
    const databaseUrl = await server().createDatabase();
    const served = await serveOperators({}, databaseUrl);
    const { app } = await serveHosting({ OPERATOR_PORT: '0' }, { world: served.world });
    operatorPorts.add(app.operatorPort!);
    return { ...served, ports: [served.port, app.operatorPort!] };
  });
});
