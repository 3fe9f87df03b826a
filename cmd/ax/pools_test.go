package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

func TestPoolsAreKeptByTheServer(t *testing.T) {
	erp := api.PoolDetail{Pool: api.Pool{Pool: "erp", Slots: new(4), Rate: "10/s", Burst: 5, Used: 3, Stopping: 1, Waiting: 2,
		Paused: &api.Pause{At: testNow, By: "user:ops", Reason: "upgrade"}},
		Holders: []api.PoolHolder{{ID: "r1:a:1", Weight: 2, Since: testNow}, {ID: "r2:a:1", Weight: 1, Since: testNow, Stopping: new(testNow)}}}
	var body api.PoolBody
	s := newStage(t, map[string]http.HandlerFunc{
		"GET pools":     answer(api.Page[api.Pool]{Items: []api.Pool{erp.Pool, {Pool: "free"}}}),
		"GET pools/erp": answer(erp),
		"PUT pools/erp": func(w http.ResponseWriter, r *http.Request) {
			body = api.PoolBody{}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				panic(err)
			}
			answer(erp)(w, r)
		},
		"DELETE pools/erp": answer(erp),
		"POST pools/erp/pause": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("dry_run") == "true" {
				answer(api.Plan{Token: "t1", Title: "let nobody more into pool erp", Warnings: []string{"2 wait"}})(w, r)
				return
			}
			answer(erp)(w, r)
		},
		"POST pools/erp/resume": answer(erp),
	})
	sh := at(s.URL)
	golden(t, "pools.golden", sh.ax("pools", "list").good(t)+"\n"+sh.ax("pools", "show", "erp").good(t))

	sh.ax("pools", "set", "erp", "--slots", "7").good(t)
	require.Equal(t, api.PoolBody{Slots: new(7), Rate: "10/s", Burst: 5}, body, "the rest stays")
	sh.ax("pools", "set", "erp", "--rate", "none", "--slots", "none", "--max-waiting", "0").good(t)
	require.Equal(t, api.PoolBody{MaxWaiting: new(0)}, body)
	sh.ax("pools", "set", "erp", "--slots", "many").fails(t, exitUsage, "whole number")

	sh.ax("pools", "delete", "erp").fails(t, exitDeclined, "delete pool erp")
	require.Equal(t, "pool erp is deleted\n", sh.ax("pools", "delete", "erp", "--yes").good(t))
	require.Equal(t, "pool erp: nobody is let in until `ax pools resume erp`\n", sh.ax("pools", "pause", "erp", "--reason", "upgrade").good(t))
	require.Contains(t, sh.ax("pools", "pause", "erp", "--dry-run").good(t), "plan: t1")
	require.Equal(t, "pool erp: nodes are let in again\n", sh.ax("pools", "resume", "erp").good(t))
	sh.ax("pools", "show", "none").fails(t, exitNotFound, "none")
}

func TestQueuesAreKeptByTheServer(t *testing.T) {
	q := api.Queue{Queue: "reports", MaxWaiting: new(50), Queued: 3, Running: 2, Waiting: 1, Workers: 4}
	var body api.QueueBody
	s := newStage(t, map[string]http.HandlerFunc{
		"GET queues": answer(api.Page[api.Queue]{Items: []api.Queue{{Queue: "default", Paused: &api.Pause{At: testNow, By: "user:ops"}}, q}}),
		"PUT queues/reports": func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				panic(err)
			}
			answer(q)(w, r)
		},
		"POST queues/reports/pause":  answer(q),
		"POST queues/reports/resume": answer(q),
	})
	sh := at(s.URL)
	golden(t, "queues.golden", sh.ax("queues", "list").good(t))
	require.Equal(t, "queue reports: at most 50 may wait\n", sh.ax("queues", "set", "reports", "--max-waiting", "50").good(t))
	require.Equal(t, 50, *body.MaxWaiting)
	require.Contains(t, sh.ax("queues", "pause", "reports").good(t), "ax queues resume reports")
	require.Equal(t, "queue reports: it goes on\n", sh.ax("queues", "resume", "reports").good(t))
}
