. "$TEST/tools.sh"
if [ ! -e "$TOOLS/typescript/ready" ]; then
  mkdir -p "$TOOLS/typescript"
  cp package.json "$TOOLS/typescript"
  (cd "$TOOLS/typescript" && npm install --silent --no-audit --no-fund --ignore-scripts) || fail_without 'the packages of npm'
  touch "$TOOLS/typescript/ready"
fi
ln -s "$TOOLS/typescript/node_modules" node_modules
PATH="$PWD/node_modules/.bin:$PATH"
orval --input openapi.json --output orval.ts --client fetch > orval.log
openapi-zod-client openapi.json -o zodios.ts > zod.log
mv check.ts.txt check.ts
tsc -p .
node check.ts
