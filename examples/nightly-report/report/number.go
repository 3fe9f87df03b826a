package report

import "fmt"

// meanTenths is the mean delay in tenths of a minute, rounded half away from zero.
func (s State) meanTenths() int { return ratio(s.Delay*10, s.Flights) }

// ratio divides whole numbers, rounding half away from zero; by zero it is zero.
func ratio(a, b int) int {
	if b == 0 {
		return 0
	}
	if a < 0 {
		return -ratio(-a, b)
	}
	return (2*a + b) / (2 * b)
}

// tenths writes a number of tenths with one decimal and a true minus sign.
func tenths(n int) string {
	if n < 0 {
		return "−" + tenths(-n)
	}
	return fmt.Sprintf("%d.%d", n/10, n%10)
}

// whole writes a whole number with a true minus sign.
func whole(n int) string {
	if n < 0 {
		return "−" + whole(-n)
	}
	return fmt.Sprint(n)
}

// percent writes part of whole as a whole percentage; of nothing it is a dash.
func percent(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%d %%", ratio(part*100, whole))
}
