package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
)

// ring maps keys to workers by consistent hash (S26): each worker stands at many places of a circle, and a key belongs to the first worker
// after its own place. When a worker goes, only its keys move, to many others; when one comes, it takes some from each.
type ring struct {
	points []point
}

type point struct {
	at     uint64
	worker string
}

// virtualNodes is how many places a worker has: enough to make arcs even within a few percent.
const virtualNodes = 160

func newRing(workers []string) *ring {
	r := &ring{points: make([]point, 0, len(workers)*virtualNodes)}
	for _, w := range workers {
		for i := range virtualNodes {
			r.points = append(r.points, point{hashed(w + "#" + strconv.Itoa(i)), w})
		}
	}
	slices.SortFunc(r.points, func(a, b point) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	return r
}

// owner finds the worker of a key: the first one from the key's place on that has room; with none the first at all. It is "" on an empty ring.
func (r *ring) owner(key string, room func(worker string) bool) string {
	if len(r.points) == 0 {
		return ""
	}
	at := hashed(key)
	first, _ := slices.BinarySearchFunc(r.points, at, func(p point, at uint64) int {
		if p.at < at {
			return -1
		}
		return 1
	})
	for i := range r.points {
		if p := r.points[(first+i)%len(r.points)]; room(p.worker) {
			return p.worker
		}
	}
	return r.points[first%len(r.points)].worker
}

func hashed(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:])
}

// ringSlack is by how much a worker may have more than its share before keys of its arc overflow to the next.
const ringSlack = 1.25

// bound is how many attempts a worker may have before its keys overflow: its share of all with some slack, and never less than it runs at once.
func bound(total, workers, capacity int) int {
	return max(capacity, int(float64(total+1)*ringSlack/float64(workers))+1)
}
