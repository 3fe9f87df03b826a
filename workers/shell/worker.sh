#!/usr/bin/env bash
# A worker for ax in forty lines: needs curl and jq. What it runs is a program handlers/NAME, which reads its inputs on standard
# input and writes its output, JSON, on standard output; exit code 64 is final, every other but 0 may be tried again.
#   AX_SERVER=http://127.0.0.1:7420 AX_TOKEN=… workers/shell/worker.sh shell-1 handlers
set -euo pipefail
id=$1 folder=$2 ns=${AX_SERVER:-http://127.0.0.1:7420}/api/v1/namespaces/${AX_NAMESPACE:-default}
token='' beating='' state=$(mktemp -d)

send() { curl -fsS --retry 5 --retry-connrefused -X "$1" ${token:+-H "Authorization: Bearer $token"} -H 'Content-Type: application/json' --data-binary "${3:-{\}}" "$ns$2"; }

leave() { trap - EXIT INT TERM; kill "$beating" 2>/dev/null || true; send DELETE "/workers/$id" || true; rm -rf "$state"; exit 0; }

register() {
    local handlers told
    token=${AX_TOKEN:-}
    handlers=$(find "$folder" -maxdepth 1 -type f -perm -u+x -printf '%f\n' | jq -R . | jq -sc .)
    token=$(send POST /workers "$(jq -nc --arg id "$id" --argjson h "$handlers" '{$id, app: "worker.sh", handlers: $h, capacity: 1, protocol: 1}')" | tee "$state/told" | jq -r .worker_token)
    told=$(jq -r .heartbeat_seconds "$state/told")
    [ -z "$beating" ] || kill "$beating" 2>/dev/null || true
    # It says that it lives, not what it runs: whoever says nothing of that is believed. What is canceled runs to its end and is refused.
    (while sleep "$told"; do send PUT "/workers/$id/heartbeat" >/dev/null 2>&1 || true; done) &
    beating=$!
}

run() {
    local task=$1 name code=0 report
    name=$(jq -r .handler <<<"$task")
    jq -c .inputs <<<"$task" | AX_EXECUTION_ID=$(jq -r .execution_id <<<"$task") "$folder/$name" >"$state/out" 2>"$state/err" || code=$?
    case $code in
    0) report=$(jq -c '{status: "succeeded", output: .}' "$state/out" || echo '{"status":"failed","error":{"class":"permanent","code":"no_json"}}') ;;
    64) report=$(jq -Rsc '{status: "failed", error: {class: "permanent", code: "exit_64", message: .}}' "$state/err") ;;
    *) report=$(jq -Rsc --arg code "exit_$code" '{status: "failed", error: {class: "system", $code, message: .}}' "$state/err") ;;
    esac
    jq -c --argjson n "$(jq .attempt <<<"$task")" --rawfile log "$state/err" '. + {attempt: $n, log: $log}' <<<"$report" >"$state/report"
    send POST "/executions/$(jq -r '.execution_id | @uri' <<<"$task")/result" "@$state/report" >/dev/null || true # stale, or lost and run again
}

trap leave EXIT INT TERM
register
while true; do
    tasks=$(send POST "/workers/$id/poll" '{"max": 1, "wait_seconds": 20}') || { sleep 1; register; continue; }
    while IFS= read -r task; do [ -z "$task" ] || run "$task"; done < <(jq -c '.[]' <<<"$tasks")
done
