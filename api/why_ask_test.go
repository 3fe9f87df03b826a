package api_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/planner"
)

func TestMomentsAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 11, 30, 9, 41, 17, 5, berlin)
	for text, want := range map[string]string{
		"2026-11-30T02:30:00+08:00":       "exact 2026-11-29T18:30:00Z 1m0s",
		"2026-11-30T02:30:00 08:00":       "exact 2026-11-29T18:30:00Z 1m0s", // a + that a form made a space
		"2026-11-30T02:30Z":               "exact 2026-11-30T02:30:00Z 1m0s",
		"2026-11-30 02:30:05Z":            "exact 2026-11-30T02:30:05Z 1s",
		"2026-11-30T02:30:05.5Z":          "exact 2026-11-30T02:30:05.5Z 1µs",
		"2026-11-30T02:30":                "wall 2026-11-30T02:30:00Z 1m0s",
		"2026-11-30 02:30:17":             "wall 2026-11-30T02:30:17Z 1s",
		"2026-11-30":                      "wall 2026-11-30T00:00:00Z 24h0m0s",
		"02:30":                           "wall 2026-11-30T02:30:00Z 1m0s",
		"09:42":                           "wall 2026-11-29T09:42:00Z 1m0s", // the last one that has come
		" today 10:30 ":                   "wall 2026-11-30T10:30:00Z 1m0s",
		"yesterday 02:30":                 "wall 2026-11-29T02:30:00Z 1m0s",
		"Tomorrow 02:30:01":               "wall 2026-12-01T02:30:01Z 1s",
		"-2h":                             "exact 2026-11-30T06:41:00Z 1m0s",
		"now":                             "exact 2026-11-30T08:41:00Z 1m0s",
		"2026-11-30T02:30[Asia/Shanghai]": "wall 2026-11-30T02:30:00Z 1m0s Asia/Shanghai",
	} {
		m, err := api.ReadMoment(text, now)
		require.NoError(t, err, text)
		got := "wall " + m.Wall.Format(time.RFC3339Nano)
		if !m.Exact.IsZero() {
			got = "exact " + m.Exact.UTC().Format(time.RFC3339Nano)
		}
		if got += " " + m.Within.String(); m.Zone != nil {
			got += " " + m.Zone.String()
		}
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"soon", "25:00", "2026-13-01", "2026-11-30T02:30[Mars/Base]", "2026-11-30T02:30[", "monday 02:30", "0001-01-01T00:00", "-9999999h", "1799-01-01T00:00:00Z",
		"12345-01-01", "02:30 yesterday", "\x00", "2026-02-30T02:30"} {
		_, err := api.ReadMoment(text, now)
		require.Error(t, err, text)
	}
}

func TestTheLineOfALogThatMatters(t *testing.T) {
	t.Parallel()
	log := func(lines ...string) (all []api.LogLine) {
		for _, l := range lines {
			stream := "stdout"
			if l[0] == '!' {
				stream = "stderr"
			}
			all = append(all, api.LogLine{Text: l, Stream: stream})
		}
		return all
	}
	require.Equal(t, -1, api.TroubleLine(nil))
	require.Equal(t, 1, api.TroubleLine(log("begin", "Error: no", "!panic: yes", "end")))
	require.Equal(t, 1, api.TroubleLine(log("begin", "!no such file", "end")))
	require.Equal(t, 1, api.TroubleLine(log("begin", "0 errors so far")))
	for d, want := range map[time.Duration]string{-time.Second: "0 ms", 40 * time.Millisecond: "40 ms", 59 * time.Second: "59 s", 61 * time.Second: "1 min 1 s",
		2 * time.Hour: "2 h", 47*time.Hour + 30*time.Minute: "47 h 30 min", 50 * time.Hour: "2 d 2 h"} {
		require.Equal(t, want, api.Lasting(d))
	}
}

func TestWhyRefusesWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	n := newNight(b, "nightly", everyNight)
	id := n.fired(progress.Succeeded).String()
	p := b.get(ns + "/why?workflow=nigthly&at=02:30").problem(http.StatusNotFound)
	require.Contains(t, p.Detail, "did you mean nightly?")
	require.Equal(t, "did you mean nightly?", p.Errors[0].Hint)
	require.Contains(t, b.get(ns+"/why?workflow=other").problem(http.StatusNotFound).Detail, "ax workflows")
	b.get("/api/v1/namespaces/none/why?workflow=nightly").problem(http.StatusNotFound)
	for _, query := range []string{"", "?at=02:30", "?workflow=nightly&run=" + id, "?run=" + id + "&node_run=" + id + ":load", "?run=" + id + "&at=02:30",
		"?workflow=nightly&at=soon", "?workflow=nightly&at=0001-01-01T00:00:00Z", "?workflow=nightly&at=%00", "?workflow=nightly&at=" + url.QueryEscape("02:30[Nowhere]"),
		"?workflow=%20", "?workflow=nightly&when=02:30"} {
		b.get(ns + "/why" + query).problem(http.StatusUnprocessableEntity)
	}
	for _, query := range []string{"run=none", "run=0000000000000", "node_run=" + id, "node_run=" + id + ":none", "node_run=" + id + ":load:7"} {
		b.get(ns + "/why?" + query).problem(http.StatusNotFound)
	}
	require.Contains(t, b.get(ns + "/why?workflow=nightly&at=soon").problem(http.StatusUnprocessableEntity).Errors[0].Message, "2026-11-30T02:30:00+08:00")
	for _, at := range []string{"1900-01-01", "9999-12-30", "1970-01-01T00:00Z", "2525-01-01", "2025-11-10T02:30:00%2B14:00"} {
		b.get(ns + "/why?workflow=nightly&at=" + at).is(http.StatusOK)
	}
}

func TestWhyPointsToWhatIsBeside(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	n := newNight(b, "nightly", everyNight)
	never := n.asking(url.Values{"workflow": {"nightly"}})
	require.Equal(t, api.NotPlanned, never.Reason, "nothing has come yet, so it is about now: %s", never.Verdict)
	id := n.fired(progress.Succeeded)

	w := n.ask(question)
	require.Equal(t, "2025-11-09T01:30:00Z", w.Before.Format(time.RFC3339))
	require.Equal(t, "2025-11-11T01:30:00Z", w.After.Format(time.RFC3339))
	require.Equal(t, "2025-11-10T01:30:00Z", w.ScheduledAt.Format(time.RFC3339))
	require.Equal(t, w.ScheduledAt, w.At)
	require.Equal(t, []string{"Europe/Berlin", id.String(), ""}, []string{w.Timezone, w.Run, w.NodeRun})
	e := w.Steps[0].Evidence
	require.Equal(t, "nightly", e.Schedule)
	require.Contains(t, string(e.Spec), `"cron":"30 2 * * *"`)
	require.Nil(t, e.SpecUntil)
	require.Equal(t, id.String(), w.Steps[1].Evidence.Fire.Run)
	require.Equal(t, "succeeded", w.Steps[2].Evidence.Run.State)

	newest := n.asking(url.Values{"workflow": {"nightly"}})
	require.Equal(t, w.Verdict, newest.Verdict, "without a time it is about the newest fire")
	require.Equal(t, w.Verdict, n.asking(url.Values{"run": {id.String()}}).Verdict)
	require.Equal(t, w.Verdict, n.ask("2025-11-10").Verdict, "of a date it is about the first fire")
	require.Equal(t, w.Verdict, n.ask("2025-11-10T01:30[UTC]").Verdict)
	off := n.ask("2025-11-10T03:00")
	require.Nil(t, off.ScheduledAt)
	require.Equal(t, "2025-11-10T02:00:00Z", off.At.Format(time.RFC3339))

	newNight(b, "plain", "")
	run := b.trigger("plain", "{}")
	require.Equal(t, run.ID, b.asking(url.Values{"workflow": {"plain"}}).Run, "without a schedule it is about the newest run")
}

// What the planner itself writes is told, too.
func TestWhyOfWhatThePlannerDecided(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	n := newNight(b, "each", `schedules: [{name: each, cron: "* * * * *", timezone: UTC}]`)
	b.exec("UPDATE ax.schedules SET next_fire_at = now() - interval '10 minutes'")
	p := planner.New(planner.Config{Store: b.store, Launcher: b.launcher})
	require.NoError(t, p.Start(t.Context()))
	defer func() { require.NoError(t, p.Stop(t.Context())) }()
	var newest time.Time
	require.Eventually(t, func() bool {
		err := b.pool.QueryRow(t.Context(), "SELECT max(scheduled_at) FROM ax.fires WHERE result = 'fired'").Scan(&newest)
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, api.CoalescedInto, n.ask(newest.Add(-5*time.Minute).Format(time.RFC3339)).Reason)
	w := n.ask(newest.Format(time.RFC3339))
	require.Equal(t, api.NowRunning, w.Steps[2].Reason)
	require.Equal(t, api.NotYetDue, n.ask(newest.Add(time.Hour).Format(time.RFC3339)).Reason)
	b.post(ns+"/workflows/each/pause", `{}`).is(http.StatusOK)
	require.Equal(t, api.Paused, n.ask(newest.Add(time.Hour).Format(time.RFC3339)).Reason)
}
