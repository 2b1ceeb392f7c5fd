/** Exits under an old Node.js. A main.js must parse and link there, so it imports no name newer than Node.js 20. */
export function checkNode() {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= 24) return;
  const advice =
    'start it with npm, for example "npm run serve": "npm ci" installs Node.js 24 in node_modules/.bin (after "npm ci --ignore-scripts" run "npm rebuild node")';
  process.stderr.write(`hosting-api requires Node.js 24, but this is Node.js ${node}; ${advice}\n`);
  process.exit(1);
}
