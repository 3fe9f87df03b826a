package report

// The chart's measures, in units of its view box.
const (
	chartWidth  = 720
	plotLeft    = 40
	plotWidth   = 520
	barPitch    = 16
	barHeight   = 11
	chartTop    = 22
	chartBottom = 8
)

// chart is a bar for every state: its mean delay, to the right when late and to the left when early.
type chart struct {
	Width, Height int
	// Zero is the place of no delay; Top and Foot are the ends of the grid lines.
	Zero, Top, Foot int
	Ticks           []tick
	Bars            []bar
}

// tick is one grid line.
type tick struct {
	X     int
	Label string
}

// bar is one state. Y is its upper edge, Text the base line of its words.
type bar struct {
	line
	X, Y, Width, Height, Text int
	// Class is late or early.
	Class string
}

// newChart lays the states out in the order given.
func newChart(states []State) chart {
	scale := newScale(states)
	c := chart{
		Width: chartWidth, Height: chartTop + len(states)*barPitch + chartBottom,
		Zero: scale.x(0), Top: chartTop - 4, Foot: chartTop + len(states)*barPitch,
	}
	for at := scale.low; at <= scale.high; at += scale.step {
		c.Ticks = append(c.Ticks, tick{X: scale.x(at), Label: whole(at / 10)})
	}
	for i, s := range states {
		c.Bars = append(c.Bars, newBar(s, chartTop+i*barPitch, scale))
	}
	return c
}

func newBar(s State, y int, scale scale) bar {
	b := bar{line: newLine(s), Y: y, Height: barHeight, Text: y + barHeight - 2, Class: "late"}
	from, to := scale.x(0), scale.x(s.meanTenths())
	if to < from {
		from, to, b.Class = to, from, "early"
	}
	b.X, b.Width = from, max(to-from, 1)
	return b
}

// scale maps tenths of a minute to places. Its ends are multiples of step around zero.
type scale struct{ low, high, step int }

// newScale takes the finest step that needs at most eight intervals.
func newScale(states []State) scale {
	low, high := 0, 0
	for _, s := range states {
		low, high = min(low, s.meanTenths()), max(high, s.meanTenths())
	}
	step := 10
	for (high-low)/step > 6 {
		step = nextStep(step)
	}
	return scale{low: -roundUp(-low, step), high: max(roundUp(high, step), step), step: step}
}

// nextStep walks 1, 2, 5, 10, 20, 50 … minutes, in tenths.
func nextStep(step int) int {
	unit := 10
	for step >= unit*10 {
		unit *= 10
	}
	if step == 2*unit {
		return 5 * unit
	}
	return 2 * step
}

func roundUp(n, step int) int { return (n + step - 1) / step * step }

func (s scale) x(tenths int) int {
	return plotLeft + ratio((tenths-s.low)*plotWidth, s.high-s.low)
}
