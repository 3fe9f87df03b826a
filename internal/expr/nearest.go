package expr

import (
	"fmt"
	"slices"
	"strings"
)

// suggest ends a message about an unknown name with the nearest known one, or
// with what is known where none is near.
func suggest(name string, known []string) string {
	if len(known) == 0 {
		return "; there are none here"
	}
	sorted := slices.Sorted(slices.Values(known))
	best, least := "", max(1, len(name)/3)+1
	for _, k := range sorted {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	const most = 6
	if len(sorted) > most {
		sorted = append(sorted[:most], "…")
	}
	return "; known: " + strings.Join(sorted, ", ")
}

// distance is the number of single letters to insert, delete, change or swap
// with their neighbour to make one word of the other.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			change := rows[i-1][j-1]
			if s[i-1] != t[j-1] {
				change++
			}
			rows[i][j] = min(change, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(s)][len(t)]
}
