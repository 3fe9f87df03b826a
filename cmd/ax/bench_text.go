package main

import (
	"maps"
	"slices"
	"strconv"

	"github.com/ax-run/ax/bench"
)

func throughputText(t bench.Throughput) string {
	out := table{header: []string{"SHAPE", "NODES/S", "RATIO", "WAL B/NODE", "TRIPS/NODE", "CPU US/NODE"}}
	for _, name := range slices.Sorted(maps.Keys(t.Shapes)) {
		s := t.Shapes[name]
		out.add(plain(name), plain(number(s.NodeRunsPerS, 0)), plain(number(s.Ratio, 2)), plain(number(s.WALBytesPerNode, 0)),
			plain(number(s.RoundTripsPerNode, 3)), plain(number(s.CPUMicrosPerNode, 0)))
	}
	out.add(plain("raw River"), plain(number(t.RawRiverPerS, 0)), plain("1"), plain(number(t.RawRiverWALBytesPerJob, 0)), plain(""),
		plain(number(t.RawRiverCPUMicrosPerJob, 0)))
	return out.render(false)
}

func latencyText(l bench.Latency) string {
	out := table{header: []string{"FROM", "P50 MS", "P99 MS", "MAX MS"}}
	for _, row := range []struct {
		name string
		bench.Spread
	}{{"end of a node to start of the next", l.HopMS}, {"trigger to start of the first node", l.StartMS}} {
		out.add(plain(row.name), plain(number(row.P50, 2)), plain(number(row.P99, 2)), plain(number(row.Max, 2)))
	}
	return out.render(false)
}

func firesBenchText(f bench.Fires) string {
	out := table{header: []string{"FIRES", "P50 MS", "P99 MS", "MAX MS", "LATE OVER 1 S", "LOST", "DOUBLED", "CPU US/FIRE"}}
	out.add(plain(strconv.Itoa(f.Fires)), plain(number(f.DelayMS.P50, 1)), plain(number(f.DelayMS.P99, 1)), plain(number(f.DelayMS.Max, 1)),
		plain(strconv.Itoa(f.Late)), plain(strconv.Itoa(f.Lost)), plain(strconv.Itoa(f.Duplicates)),
		plain(number(f.CPUMicros, 0)))
	return out.render(false)
}

func herdText(h bench.Herd) string {
	out := table{header: []string{"LAST START S", "LOST", "DOUBLED", "CPU US/FIRE"}}
	out.add(plain(number(h.LastStartS, 2)), plain(strconv.Itoa(h.Lost)), plain(strconv.Itoa(h.Duplicates)), plain(number(h.CPUMicros, 0)))
	return out.render(false)
}

func remoteText(r bench.Remote) string {
	out := table{header: []string{"WAY", "NODE RUNS/S"}}
	out.add(plain("pushed to"), plain(number(r.PushPerS, 0)))
	out.add(plain("polls"), plain(number(r.PollPerS, 0)))
	out.add(plain("in the process"), plain(number(r.LocalPerS, 0)))
	return out.render(false)
}

func number(v float64, digits int) string {
	return strconv.FormatFloat(v, 'f', digits, 64)
}
