#!/usr/bin/env bash
# First calls with an API key and curl: the permissions of the key, the state of a game server, a start and its status,
# recent actions and the latest log. Exits with status 1 at the first error.
#   HOSTING_API_KEY=hk_... API_URL=https://api.example.com examples/clients/curl.sh SERVER
set -euo pipefail
server=${1:-demo}
base=${API_URL:-http://localhost:3000}

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}
[[ ${HOSTING_API_KEY:-} == hk_* ]] || fail 'Set the environment variable HOSTING_API_KEY to your key, hk_...'

# Sends a request and prints the response body: call METHOD PATH [CURL OPTION]...
call() {
  local method=$1 path=$2 answer body status
  shift 2
  printf '\n%s %s\n' "$method" "$path" >&2
  # Other users of the machine can read arguments, so the builtin printf passes the key to curl through a pipe.
  answer=$(curl --silent --show-error --max-time 30 --request "$method" --write-out '\n%{http_code}' \
    --header @<(printf 'Authorization: Bearer %s\n' "$HOSTING_API_KEY") "$@" "$base$path") ||
    fail "$base does not answer."
  status=${answer##*$'\n'}
  body=${answer%$'\n'*}
  body=${body%$'\n'}
  [[ $status == 200 ]] || fail "$method $path was answered with $status: $body"
  printf '%s\n' "$body"
}

# With this ID, the outcome can be looked up even if the response is lost. With the same Idempotency-Key, a retry does
# not start the server twice.
id=$(date +%s)-$RANDOM$RANDOM

call GET /v1/key
call GET "/v1/hosting/game/power/$server"
call POST "/v1/hosting/game/power/$server/start" --header "Idempotency-Key: $id" --header "X-Request-Id: start-$id"
call GET "/v1/hosting/actions/start-$id"
call GET '/v1/hosting/activity?limit=5'
call GET "/v1/hosting/game/logs/$server/latest"
