import { describePostgres } from '../../helpers/postgres.ts';
import { createInstances } from '../../hosting/instances.ts';
import { childrenSuite } from '../../keys/children-suite.ts';

describePostgres((server) => {
  childrenSuite(async () => createInstances(await server().createDatabase()));
});
