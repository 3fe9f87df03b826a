package dag

import "strings"

// synonyms are the words of other systems for keys of ours, which spelling alone would not bring up.
var synonyms = map[string]string{
	"depends_on": "needs", "depends": "needs", "dependencies": "needs", "upstreams": "needs",
	"retries": "retry", "tasks": "nodes", "steps": "nodes", "jobs": "nodes", "id": "workflow",
	"name": "workflow", "code": "workflow", "condition": "when", "if": "when", "args": "inputs",
	"parameters": "params", "cron": "schedules", "schedule": "schedules", "run": "command",
	"script": "command", "env": "command", "url": "http", "foreach": "for_each", "parallelism": "shards",
}

// Nearest returns the known name that was probably meant, or "".
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	best, most := "", 1+len(name)/4
	for _, k := range known {
		if d := distance(name, strings.ToLower(k), most); d <= most {
			best, most = k, d-1
		}
	}
	if best != "" {
		return best
	}
	for _, k := range known {
		if synonyms[name] == k {
			return k
		}
	}
	return ""
}

// distance counts the letters to insert, delete, change or swap to get from a to b; it stops counting
// beyond most.
func distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most || len(a) > 64 || len(b) > 64 {
		return most + 1
	}
	var rows [3][66]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := 0; j <= len(b); j++ {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
