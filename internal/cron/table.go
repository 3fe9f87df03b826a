package cron

import (
	"sort"
	"sync"
	"time"
)

// stretch is a span of instants with one offset from UTC.
type stretch struct {
	start  int64 // Unix seconds
	end    int64 // the first second after it
	offset int64 // seconds east of UTC
}

// wallAt is what the wall shows at an instant of the stretch, or would show.
func (s stretch) wallAt(instant int64) wall { return wall(instant + s.offset) }

// instantOf is the instant at which the wall shows w, if that lies within the stretch.
func (s stretch) instantOf(w wall) int64 { return int64(w) - s.offset }

// table is every stretch of a zone, in order and without holes. The first reaches back
// and the last forward without end.
type table []stretch

// Bounds of a table: beyond every instant of the years a schedule can fire in.
const (
	timeStart int64 = -1 << 58
	timeEnd   int64 = 1 << 58
)

var (
	scanStart = time.Date(firstYear-1, time.December, 29, 0, 0, 0, 0, time.UTC).Unix()
	scanEnd   = time.Date(lastYear+1, time.January, 4, 0, 0, 0, 0, time.UTC).Unix()
)

// find returns the index of the stretch that holds an instant.
func (t table) find(instant int64) int {
	return sort.Search(len(t)-1, func(i int) bool { return instant < t[i].end })
}

// repeatedBefore is how many seconds at the start of stretch i show a wall time that has been before.
func (t table) repeatedBefore(i int) int64 {
	if i == 0 {
		return 0
	}
	return max(0, t[i-1].offset-t[i].offset)
}

// repeatedAfter is how many seconds at the end of stretch i show a wall time that comes again.
func (t table) repeatedAfter(i int) int64 {
	if i == len(t)-1 {
		return 0
	}
	return max(0, t[i].offset-t[i+1].offset)
}

// newTable goes through a zone from change to change.
func newTable(zone *time.Location) table {
	here := stretch{start: timeStart, end: timeEnd, offset: offsetAt(zone, scanStart)}
	var t table
	for at := scanStart; at < scanEnd; {
		ahead := sameUntil(zone, at)
		if offsetAt(zone, ahead) == here.offset {
			at = ahead
			continue
		}
		at = changeAfter(zone, at, ahead, here.offset)
		here.end = at
		t = append(t, here)
		here = stretch{start: at, end: timeEnd, offset: offsetAt(zone, at)}
	}
	return append(t, here)
}

// sameUntil returns a later instant up to which the offset changes at most once.
// Time.ZoneBounds answers for as long as nothing changes, but where the zone data ends in
// a rule its bounds are those of a year and may not advance: then it is the next day.
func sameUntil(zone *time.Location, at int64) int64 {
	_, bound := time.Unix(at, 0).In(zone).ZoneBounds()
	if bound.IsZero() {
		return scanEnd
	}
	return max(at+daySeconds, bound.Unix())
}

// changeAfter returns the first instant of a change away from offset, between an instant
// that still has it and one that does not.
func changeAfter(zone *time.Location, has, hasNot, offset int64) int64 {
	return has + int64(sort.Search(int(hasNot-has), func(n int) bool {
		return offsetAt(zone, has+int64(n)) != offset
	}))
}

func offsetAt(zone *time.Location, instant int64) int64 {
	_, offset := time.Unix(instant, 0).In(zone).Zone()
	return int64(offset)
}

// tables keeps the last table made for each zone name, as making one takes milliseconds.
var tables sync.Map // string → madeTable

type madeTable struct {
	zone  *time.Location
	table table
}

// tableOf returns the table of a zone. Zones of one name that are different zones are told apart.
func tableOf(zone *time.Location) table {
	if found, ok := tables.Load(zone.String()); ok {
		if made := found.(madeTable); made.zone == zone {
			return made.table
		}
	}
	made := madeTable{zone, newTable(zone)}
	tables.Store(zone.String(), made)
	return made.table
}
