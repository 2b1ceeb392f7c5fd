#!/usr/bin/env bash
# Restarts a game server and waits until it is running. Restarts at most once, even if responses are lost.
#   HOSTING_API_KEY=hk_... API_URL=https://api.example.com examples/clients/restart.sh SERVER [SECONDS]
# Status 0: running. Status 1: not running after SECONDS (default 300), or the restart failed; the last line says why.
set -euo pipefail
server=${1:?usage: restart.sh SERVER [SECONDS]}
seconds=${2:-300}
base=${API_URL:-http://localhost:3000}
id=restart-$(date +%s)-$RANDOM$RANDOM

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}
[[ ${HOSTING_API_KEY:-} == hk_* ]] || fail 'Set the environment variable HOSTING_API_KEY to your key, hk_...'
headers=$(mktemp)
trap 'rm -f "$headers"' EXIT

# Sends a request: call METHOD PATH [CURL OPTION]... Sets status (000 without a response) and body.
call() {
  local method=$1 path=$2 answer
  shift 2
  : > "$headers"
  # Other users of the machine can read arguments, so the builtin printf passes the key to curl through a pipe.
  answer=$(curl --silent --max-time 30 --request "$method" --dump-header "$headers" --write-out '\n%{http_code}' \
    --header @<(printf 'Authorization: Bearer %s\n' "$HOSTING_API_KEY") "$@" "$base$path") || answer=$'\n000'
  status=${answer##*$'\n'}
  body=${answer%$'\n'*}
  body=${body%$'\n'}
  printf '%s %s: %s\n' "$method" "$path" "$status"
}

# Prints the value of a text field of the body, which is flat JSON.
field() { sed -nE "s/.*\"$1\":\"([^\"]*)\".*/\1/p" <<< "$body"; }

# Waits as long as Retry-After says, or by default the seconds in its argument.
pause() {
  local wait
  wait=$(sed -nE 's/^[Rr]etry-[Aa]fter: *([0-9]+).*/\1/p' "$headers" | tail -n 1)
  wait=${wait:-$1}
  ((SECONDS + wait < seconds)) || fail "$server does not run after $SECONDS seconds. The last answer: $status $body"
  sleep "$wait"
}

# Sets outcome: running, accepted, failed or unknown; none if the restart never arrived.
ask_outcome() {
  while true; do
    call GET "/v1/hosting/actions/$id"
    case $status in
      200) outcome=$(field status) ;;
      404) outcome=none ;;
      429 | 5?? | 000) outcome=running ;;
      *) fail "Cannot look up the outcome: $status $body" ;;
    esac
    [[ $outcome == running ]] || return 0
    pause 2
  done
}

outcome=none
while [[ $outcome == none ]]; do
  call POST "/v1/hosting/game/power/$server/restart" --header "X-Request-Id: $id" --header "Idempotency-Key: $id"
  case $status in
    200) outcome=accepted ;;
    # Refused by a limit or a running action; not done.
    429) pause 5 ;;
    # The response was lost, or the panel did not answer in time. The restart may have been done anyway.
    5?? | 409 | 000)
      ask_outcome
      # The Idempotency-Key makes the retry safe, even if the first request still arrives.
      [[ $outcome != none ]] || pause 5
      ;;
    *) fail "The restart was refused: $status $body" ;;
  esac
done
case $outcome in
  accepted) ;;
  failed) fail 'The restart failed and changed nothing.' ;;
  *) fail 'The restart may have been done: check the server before you try again.' ;;
esac

while true; do
  call GET "/v1/hosting/game/power/$server"
  case $status in
    200) [[ $(field state) != running ]] || break ;;
    429 | 5?? | 000) ;;
    *) fail "Cannot read the state: $status $body" ;;
  esac
  pause 2
done
printf '%s runs after %s seconds.\n' "$server" "$SECONDS"
