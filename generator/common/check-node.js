// Ends a process of an old Node.js, where TypeScript files fail with a stack. Must run there, so it imports nothing.
const { node } = process.versions;
if (Number.parseInt(node, 10) < 24) {
  const advice =
    'start it with npm, for example "npm run serve": "npm ci" installs Node.js 24 in node_modules/.bin (after "npm ci --ignore-scripts" run "npm rebuild node")';
  process.stderr.write(`hosting-api requires Node.js 24, but this is Node.js ${node}; ${advice}\n`);
  process.exit(1);
}
