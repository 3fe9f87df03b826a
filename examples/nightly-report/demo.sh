#!/usr/bin/env bash
# Watches the nightly report run for three business dates: builds ax and the example's program, starts both with a
# PostgreSQL of their own, and shows every run and where its report is. Only the reports are left behind.
set -euo pipefail
cd "$(dirname "$0")/../.."

workflow=report.nightly_flights
dates="2001-01-15 2001-02-14 2001-03-12"
reports=$PWD/.ax/reports
place=$(mktemp -d "${TMPDIR:-/tmp}/ax-demo-XXXXXX")
chmod 711 "$place" # root's PostgreSQL runs as another user, who must be able to pass
server=

clean() {
	if [ -n "$server" ]; then
		kill -TERM "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	rm -rf "$place"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { printf '\n— %s\n' "$*"; }

await() {
	for _ in $(seq 600); do
		grep -q '^ax is ready at ' "$place/out" && return
		kill -0 "$server" 2>/dev/null || break
		sleep 0.2
	done
	cat "$place/out" "$place/log" >&2
	echo "ax dev did not become ready" >&2
	return 1
}

say "building bin/ax and bin/nightly"
go build -trimpath -o bin/ ./cmd/ax ./examples/nightly-report/cmd/nightly
unset AX_CONTEXT AX_NAMESPACE AX_OUTPUT AX_TOKEN
export PATH=$PWD/bin:$PATH AX_CONFIG=/dev/null

say "starting ax dev with a PostgreSQL of its own"
ax dev --data "$place/data" --listen 127.0.0.1:0 --allow-commands >"$place/out" 2>"$place/log" &
server=$!
await
AX_SERVER=$(sed -n 's/^ax is ready at //p' "$place/out")
export AX_SERVER
echo "ax dev serves $AX_SERVER"

say "ax apply -f examples/nightly-report/workflow.yaml"
ax apply -f examples/nightly-report/workflow.yaml

# All three are started at once; the workflow lets one run at a time, and the others wait their turn.
runs=
for date in $dates; do
	runs="$runs $(ax trigger $workflow --quiet --logical-time "${date}T02:30:00+08:00" --param folder="$reports")"
done

for run in $runs; do
	say "ax run $run --wait"
	ax run "$run" --wait
	echo
	echo "report    $(ax logs "$run" publish)"
done

say "the reports stay in $reports; everything else ends here"
