/** Ends an old Node.js. It reads JavaScript only, so a main.js imports no name that came after Node.js 20. */
export function checkNode() {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= 24) return;
  const advice =
    'run it by npm, as with "npm run serve": "npm ci" installs Node.js 24 in node_modules/.bin, and after "npm ci --ignore-scripts" "npm rebuild node" does';
  process.stderr.write(`hosting-api needs Node.js 24, and this is Node.js ${node}; ${advice}\n`);
  process.exit(1);
}
