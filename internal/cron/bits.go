package cron

import mathbits "math/bits"

// none is the answer of a search that found nothing.
const none = -1

// bits is a set of numbers from 0 to 63.
type bits uint64

func (b *bits) add(values ...int) {
	for _, v := range values {
		*b |= 1 << v
	}
}

// next returns the smallest member that is at least from, or none.
func (b bits) next(from int) int {
	if rest := b >> from << from; rest != 0 {
		return mathbits.TrailingZeros64(uint64(rest))
	}
	return none
}

// The years a schedule can fire in. Quartz's own documentation ends at 2099; the bound
// here is what makes the search for an impossible date end.
const (
	firstYear = 1970
	lastYear  = 2199
)

// years is a set of years from firstYear to lastYear.
type years [(lastYear-firstYear)/64 + 1]bits

// everyYear is the set of all of them.
var everyYear = func() (all years) {
	for y := firstYear; y <= lastYear; y++ {
		all.add(y)
	}
	return all
}()

func (y *years) add(values ...int) {
	for _, v := range values {
		i := v - firstYear
		y[i/64].add(i % 64)
	}
}

// next returns the first member that is at least from, or none; from is at least firstYear.
func (y *years) next(from int) int {
	i := from - firstYear
	for word := i / 64; word < len(y); word++ {
		if bit := y[word].next(i % 64); bit != none {
			return firstYear + word*64 + bit
		}
		i = 0
	}
	return none
}
