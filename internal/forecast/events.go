package forecast

import "time"

// turn orders what happens at one moment: what ends makes room before anything asks for it.
type turn int

const (
	ends turn = iota
	wakes
	fires
)

// event is something that will happen.
type event struct {
	at   time.Duration
	turn turn
	seq  int64
	// One of these, by turn.
	task     *task
	resource int
	fire     *Fire
}

func sooner(a, b event) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.turn != b.turn:
		return a.turn < b.turn
	}
	return a.seq < b.seq
}

func (h *house) push(e event) {
	h.seq++
	e.seq = h.seq
	h.events.push(e)
}

// heap gives out the first of what it holds.
type heap[T any] struct {
	less  func(a, b T) bool
	items []T
}

func (h *heap[T]) len() int { return len(h.items) }
func (h *heap[T]) first() T { return h.items[0] }

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	for i := len(h.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(h.items[i], h.items[parent]) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

func (h *heap[T]) pop() T {
	top, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	var none T
	h.items[last] = none
	h.items = h.items[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if h.less(h.items[child], h.items[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}
