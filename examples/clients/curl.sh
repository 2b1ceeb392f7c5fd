#!/usr/bin/env bash
# The first calls with an API key, by curl: what the key may do, the state of a game server, a start, what became of it, the
# recent actions and the latest log. Ends with status 1 at the first error.
#   HOSTING_API_KEY=hk_... API_URL=https://api.example.com examples/clients/curl.sh SERVER
set -euo pipefail
server=${1:-demo}
base=${API_URL:-http://localhost:3000}

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}
[[ ${HOSTING_API_KEY:-} == hk_* ]] || fail 'The environment variable HOSTING_API_KEY needs your key, hk_...'

# Sends a request and prints the body of the answer: call METHOD PATH [OPTION OF CURL]...
call() {
  local method=$1 path=$2 answer body status
  shift 2
  printf '\n%s %s\n' "$method" "$path" >&2
  # Other users of the machine can read arguments, so curl reads the key from a pipe that printf, a builtin, fills.
  answer=$(curl --silent --show-error --max-time 30 --request "$method" --write-out '\n%{http_code}' \
    --header @<(printf 'Authorization: Bearer %s\n' "$HOSTING_API_KEY") "$@" "$base$path") ||
    fail "There is no answer from $base."
  status=${answer##*$'\n'}
  body=${answer%$'\n'*}
  body=${body%$'\n'}
  [[ $status == 200 ]] || fail "$method $path was answered with $status: $body"
  printf '%s\n' "$body"
}

# The service keeps this ID, so that the outcome can be asked for even if the answer is lost. Sent again with the same
# Idempotency-Key, the start is not done twice.
id=$(date +%s)-$RANDOM$RANDOM

call GET /v1/key
call GET "/v1/hosting/game/power/$server"
call POST "/v1/hosting/game/power/$server/start" --header "Idempotency-Key: $id" --header "X-Request-Id: start-$id"
call GET "/v1/hosting/actions/start-$id"
call GET '/v1/hosting/activity?limit=5'
call GET "/v1/hosting/game/logs/$server/latest"
