package api_test

import (
	"fmt"
	"net/url"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// threeNodes are those of the runs below: load, then report, then send.
const threeNodes = everyNight + `
nodes:
  load: {handler: load, retry: {max_attempts: 3}}
  report: {handler: report, needs: [load], when: "params.day != 'none'"}
  send: {handler: send, needs: [report]}
params: {day: {type: string, default: today}}`

// causes of a run (S2, S16, S17, S22, S33).
var runCauses = []cause{
	{"a node failed for good", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Failed)
		n.failLoad(id)
		b.log(attemptOf(id, "load", 3), 1, "connecting to the warehouse", "ERROR pq: too many connections for role \"etl\"", "giving up")
		return n.ask(question)
	}},
	{"a failure that is tolerated", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Succeeded)
		b.exec("UPDATE ax.runs SET warnings = 1 WHERE id = $1", id)
		b.exec("DELETE FROM ax.node_runs")
		n.ended(id, "load", 1, 2, store.Record{State: progress.Succeeded, Worker: "w1"})
		n.ended(id, "report", 1, 3, store.Record{State: progress.Failed, Tolerated: true, Worker: "w1", Err: sysErr("no printer")})
		n.ended(id, "send", 1, 4, store.Record{State: progress.Succeeded, Worker: "w1"})
		return n.ask(question)
	}},
	{"timed out", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Failed)
		b.exec("UPDATE ax.runs SET timed_out = true WHERE id = $1", id)
		n.ended(id, "load", 1, 11, store.Record{State: progress.Canceled, Reason: "run_timeout", Worker: "w1"})
		return n.ask(question)
	}},
	{"canceled", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Canceled)
		b.exec("UPDATE ax.runs SET canceled_by = 'user:ana', cancel_reason = 'wrong month' WHERE id = $1", id)
		return n.ask(question)
	}},
	{"displaced by a newer run", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight+"\nconcurrency: {max_runs: 1, overflow: queue_latest}")
		n.fired(progress.Skipped)
		return n.ask(question)
	}},
	{"queued behind another run", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		n.run("2025-11-09T02:30:00+01:00", progress.Running)
		n.fired(progress.Queued)
		return n.ask(question)
	}},
	{"held", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Running)
		b.exec("UPDATE ax.runs SET held_at = '2025-11-10T01:31:00Z' WHERE id = $1", id)
		return n.ask(question)
	}},
	{"being canceled", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		b.exec("UPDATE ax.runs SET canceling = true WHERE id = $1", n.fired(progress.Running))
		return n.ask(question)
	}},
	{"goes on", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Running)
		n.ended(id, "load", 1, 2, store.Record{State: progress.Succeeded, Worker: "w1"})
		n.apply(store.Changes{Begins: []store.Begin{begin(id, "report", 1, store.ModeJob, 0)}})
		b.take(id, "report")
		b.exec("UPDATE ax_river.river_job SET attempted_at = '2025-11-10T01:33:00Z', created_at = '2025-11-10T01:32:19Z'")
		return n.ask(question)
	}},
	{"goes on, and will fail", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Running)
		n.failLoad(id)
		return b.asking(url.Values{"run": {id.String()}})
	}},
}

// failLoad writes three attempts of load, the last of which failed for good, and what that kept from running.
func (n *night) failLoad(id store.RunID) {
	n.Helper()
	for attempt := 1; attempt <= 3; attempt++ {
		r := store.Record{State: progress.Retrying, Outcome: "failed", Worker: "w1", Err: sysErr("pq: too many connections for role \"etl\"")}
		if attempt == 3 {
			r.State = progress.Failed
		}
		n.ended(id, "load", attempt, 3*attempt, r)
	}
	n.ended(id, "report", 0, 10, store.Record{State: progress.UpstreamFailed, Reason: "upstream"})
	n.ended(id, "send", 0, 10, store.Record{State: progress.UpstreamFailed, Reason: "upstream"})
}

// waiting makes the slot's run with load held back.
func waiting(mode store.Mode, demand store.Demand, more ...func(n *night, id store.RunID)) func(b *bed, code string) api.Why {
	return func(b *bed, code string) api.Why {
		b.Helper()
		b.putPool("erp", `{"slots": 1}`)
		b.putPool("sap", `{"rate": "10/m"}`)
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Running)
		for _, do := range more {
			do(n, id)
		}
		attempt := 1
		if mode == store.ModeDue {
			attempt = 2
		}
		n.held(id, "load", attempt, mode, demand)
		return n.ask(question)
	}
}

// ended makes a node of a run that has ended as a record says, and asks about it.
func endedNode(r store.Record, more ...func(n *night, id store.RunID)) func(b *bed, code string) api.Why {
	return func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Failed)
		n.ended(id, "report", 1, 4, r)
		for _, do := range more {
			do(n, id)
		}
		return b.asking(url.Values{"node_run": {id.String() + ":report"}})
	}
}

func serving(name, kind string) func(*night, store.RunID) {
	return func(n *night, _ store.RunID) { n.worker(name, kind) }
}

// causes of a node (S14–S17, S23–S27).
var nodeCauses = []cause{
	{"no worker at all", waiting(store.ModeWorker, "")},
	{"no worker with its handler", waiting(store.ModeWorker, "", serving("w1", "go:other"), serving("w2", "http"))},
	{"its worker is lost", waiting(store.ModeWorker, "", serving("w1", "go:load"), func(n *night, _ store.RunID) {
		n.exec("UPDATE ax.workers SET beat_at = '2025-11-10T01:29:00Z'")
	})},
	{"its worker has other labels", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight)
		b.exec(`UPDATE ax.versions SET definition = jsonb_set(definition::jsonb, '{nodes,load,labels}', '{"zone": "eu"}')::json WHERE id = $1`, n.version)
		n.worker("w1", "go:load")
		id := n.fired(progress.Running)
		n.held(id, "load", 1, store.ModeWorker, "")
		b.exec("UPDATE ax.held SET queue = queue || '-7' WHERE run_id = $1", id)
		return n.ask(question)
	}},
	{"its worker is suspect", waiting(store.ModeWorker, "", serving("w1", "go:load"), func(n *night, _ store.RunID) {
		n.exec("UPDATE ax.workers SET beat_at = '2025-11-10T01:29:00Z', suspect_after = '1 s', lease = '200 years'")
	})},
	{"its worker is stopping", waiting(store.ModeWorker, "", serving("w1", "go:load"), func(n *night, _ store.RunID) { n.exec("UPDATE ax.workers SET stopping = true") })},
	{"its queue is paused", waiting(store.ModeQueue, "", func(n *night, _ store.RunID) { n.exec("UPDATE ax.queues SET paused_at = now()") })},
	{"a full pool", waiting(store.ModePool, "1:erp=1", serving("w1", "go:load"), func(n *night, _ store.RunID) {
		n.exec("INSERT INTO ax.slots (namespace_id, pool, run_id, node, shard, generation, attempt, weight) VALUES (1, 'erp', 1048576, 'a', -1, 1, 1, 1)")
	})},
	{"a paused pool", waiting(store.ModePool, "1:erp=1", serving("w1", "go:load"), func(n *night, _ store.RunID) { n.exec("UPDATE ax.pools SET paused_at = now()") })},
	{"a rate", waiting(store.ModePool, "1:sap=1", serving("w1", "go:load"), func(n *night, _ store.RunID) {
		n.exec("UPDATE ax.pools SET next_at = '2149-11-10T01:30:00Z' WHERE name = 'sap'")
	})},
	{"a retry", waiting(store.ModeDue, "", func(n *night, id store.RunID) {
		n.ended(id, "load", 1, 1, store.Record{State: progress.Retrying, Outcome: "failed", Worker: "w1", Err: sysErr("no such table")})
	})},
	{"an approval", waiting(store.ModeApproval, "")},
	{"a wait", waiting(store.ModeWait, "")},
	{"no room on a worker", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Running)
		job := begin(id, "load", 1, store.ModeJob, 0)
		job.Place.Queue = "q" + n.queue("default")
		n.apply(store.Changes{Begins: []store.Begin{job}})
		b.exec("UPDATE ax_river.river_job SET created_at = '2025-11-10T01:30:01Z'")
		return n.ask(question)
	}},
	{"nodes before it", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Running)
		n.held(id, "load", 1, store.ModeWorker, "")
		return b.asking(url.Values{"node_run": {id.String() + ":report"}})
	}},
	{"failed above", func(b *bed, code string) api.Why {
		n := newNight(b, code, threeNodes)
		id := n.fired(progress.Failed)
		n.failLoad(id)
		return b.asking(url.Values{"node_run": {id.String() + ":send"}})
	}},
	{"its condition", endedNode(store.Record{State: progress.Skipped, Reason: "condition"})},
	{"a branch", endedNode(store.Record{State: progress.Skipped, Reason: "branch"})},
	{"skipped above", endedNode(store.Record{State: progress.Skipped, Reason: "rule"})},
	{"marked", endedNode(store.Record{State: progress.Skipped, Reason: "marked", Note: "not this month"})},
	{"aborted", endedNode(store.Record{State: progress.Canceled, Reason: "aborted"})},
	{"a timeout", endedNode(store.Record{State: progress.Failed, Worker: "w1", Err: &progress.Error{Class: progress.Timeout, Code: "timeout", Message: "it took longer than its timeout of 10m"}})},
	{"waited too long", endedNode(store.Record{State: progress.Failed, Err: &progress.Error{Class: progress.Permanent, Code: "queue_timeout", Message: "it waited longer than its queue_timeout and never ran"}})},
	{"a pool was full", endedNode(store.Record{State: progress.Failed, Err: &progress.Error{Class: progress.Permanent, Code: "pool_full", Message: "10 nodes waited for pool erp already"}})},
	{"its workers died", endedNode(store.Record{State: progress.Failed, Outcome: "lost", Worker: "w1", Err: &progress.Error{Class: progress.Lost, Message: "the worker was lost"}})},
	{"went well", endedNode(store.Record{State: progress.Succeeded, Worker: "w1"})},
	{"said that there is nothing to do", endedNode(store.Record{State: progress.Skipped, Outcome: "skipped", Worker: "w1"})},
	{"shards failed", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight+"\nnodes: {load: {handler: load, shards: 3}}")
		id := n.fired(progress.Failed)
		b.exec("INSERT INTO ax.expansions (run_id, node, generation, base, total) VALUES ($1, 'load', 1, 1, 3)", id)
		for shard, state := range []progress.State{progress.Succeeded, progress.Failed, progress.Failed} {
			b.exec(`INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, worker, actor, reason, error_class, error_code, error_message, started_at, finished_at)
				VALUES ($1, 'load', $2, 1, 1, $3, $3, 'w1', 'engine', 'result', CASE WHEN $3 = 'failed' THEN 'permanent' END, 'no', $4, '2025-11-10T01:31:00Z', '2025-11-10T01:32:00Z')`,
				id, shard, string(state), fmt.Sprintf("no file for %d", shard))
		}
		n.ended(id, "load", 1, 5, store.Record{State: progress.Failed, Reason: "shards", Err: &progress.Error{Class: progress.Permanent, Code: "shards_failed", Message: "2 of 3 shards failed"}})
		return n.ask(question)
	}},
	{"a shard waits", func(b *bed, code string) api.Why {
		n := newNight(b, code, everyNight+"\nnodes: {load: {handler: load, shards: 3}}")
		id := n.fired(progress.Running)
		b.exec("INSERT INTO ax.expansions (run_id, node, generation, base, total) VALUES ($1, 'load', 1, 1, 3)", id)
		b.exec(`INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority, since)
			SELECT $1, 'load', s, 1, 1, 'worker', 'waiting', 'q' || $2::text, 'go:load', 2, '2025-11-10T01:31:00Z' FROM generate_series(0, 2) s`, id, n.queue("default"))
		return n.ask(question)
	}},
}
