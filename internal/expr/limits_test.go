package expr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chain applies a macro over and over, each time to what the last one made.
func chain(start, format string, times int) string {
	src := start
	for i := range times {
		src += "." + strings.ReplaceAll(format, "V", fmt.Sprintf("v%d", i))
	}
	return src
}

// Every expression here would take minutes or gigabytes; each is stopped.
func TestHostileExpressions(t *testing.T) {
	doubled := chain(`[[0, 0]]`, "map(V, [V, V])", 30)
	list := `lists.range(100000)`
	text := `"abcdefghijklmnop"` + strings.Repeat(`.replace("", "abcdefgh")`, 12)
	big := json.RawMessage(`{"text": "` + strings.Repeat("ab", 1<<16) + `", "list": [` + strings.Repeat("1,", 100000) + `1]}`)
	for name, src := range map[string]string{
		"loops":               list + `.all(a, ` + list + `.all(b, ` + list + `.all(c, true)))`,
		"loops that build":    list + `.map(a, ` + list + `.map(b, ` + list + `))`,
		"one large list":      `lists.range(1000000000)`,
		"shared lists":        doubled,
		"shared lists equal":  doubled + ` == ` + doubled,
		"shared maps":         chain(`[{"a": 1}]`, `map(V, {"a": V, "b": V})`, 40) + `.map(x, x == dyn(1))`,
		"shared in loops":     chain(`[[0]]`, `map(V, lists.range(100).map(i, V))`, 6),
		"shared, late":        `lists.range(2000).map(i, i < 5 ? dyn(i) : ` + chain(`[dyn([i])]`, "map(V, [V, V])", 25) + `)`,
		"long text":           chain(`["aaaaaaaaaaaaaaaa"]`, "map(V, V + V)", 40),
		"long list":           chain(`[[1, 1]]`, "map(V, V + V)", 40) + `[0] == [1]`,
		"replace":             text,
		"join":                `lists.range(10000).map(i, "a").join(item.text)`,
		"replace large":       `item.text.replace("a", item.text)`,
		"indexOf":             `item.text.indexOf(item.text.replace("ab", "b"))`,
		"distinct":            `item.list.distinct()`,
		"distinct in lists":   list + `.distinct()`,
		"sets":                `sets.contains(item.list, ` + list + `)`,
		"sets equivalent":     `sets.equivalent(item.list, ` + list + `)`,
		"hasAny":              `[item.list].hasAll(item.list)`,
		"regular expression":  `item.text.matches("(a?b?){200}(.{200})*z")`,
		"long pattern":        `"a".matches(item.text)`,
		"flatten":             doubled + `.flatten(40)`,
		"format":              `"` + strings.Repeat("%s", 30) + `".format([` + strings.TrimSuffix(strings.Repeat(doubled+`,`, 2), ",") + `])`,
		"equality over again": strings.TrimSuffix(strings.Repeat(`item.list == item.list && `, 300), " && "),
		"sort":                list + `.map(i, -i).sort()`,
		"split":               `item.text.split("").map(a, item.text.split(""))`,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(src, scope)
			if err != nil {
				require.ErrorContains(t, err, "format")
				return
			}
			begin := time.Now()
			_, err = p.Eval(t.Context(), Vars{Extra: map[string]json.RawMessage{"item": big}})
			took := time.Since(begin)
			t.Logf("%v %v", took, err)
			require.Error(t, err)
			require.Less(t, took, 4*time.Second)
		})
	}
}

// What people write is well inside the limits.
func TestOrdinaryExpressionsAreInsideTheLimits(t *testing.T) {
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`{"id": %d, "name": "customer %d", "amount": %d.5}`, i, i, i))
	}
	item := json.RawMessage(`{"rows": [` + strings.Join(rows, ",") + `], "text": "` + strings.Repeat("one line of text, ", 1000) + `"}`)
	for _, src := range []string{
		`item.rows.filter(r, r.amount > 100.0 && r.name.startsWith("customer")).map(r, r.id)`,
		`item.rows.map(r, {"id": r.id, "label": r.name + "!"})`,
		`item.rows.exists(r, r.id == 999)`,
		`item.rows.map(r, r.name).join(", ")`,
		`item.text.split(" ").filter(w, w == "text,").size()`,
		`item.text.replace("line", "LINE")`,
		`item.text.matches("^(one line of text, )+$")`,
		`item.rows.map(r, r.id).slice(0, 900).sort()`,
		`item.rows.map(r, r.id).slice(0, 500).distinct()`,
		`item == item && item.rows == item.rows`,
	} {
		p, err := Compile(src, scope)
		require.NoError(t, err)
		begin := time.Now()
		_, err = p.Eval(t.Context(), Vars{Extra: map[string]json.RawMessage{"item": item}})
		require.NoError(t, err, src)
		t.Logf("%v %s", time.Since(begin), src)
	}
}

func TestCompilingIsBounded(t *testing.T) {
	for name, src := range map[string]string{
		"brackets":   strings.Repeat("[", 4000) + strings.Repeat("]", 4000),
		"parens":     strings.Repeat("(", 4000) + "1" + strings.Repeat(")", 4000),
		"ternaries":  strings.Repeat("true ? 1 : ", 700) + "1",
		"ors":        strings.Repeat("params.dry || ", 550) + "true",
		"macros":     chain("[1]", "map(V, V)", 500),
		"nested":     strings.Repeat("[1].map(x, ", 24) + "1" + strings.Repeat(")", 24),
		"maps":       strings.Repeat(`{"a":`, 24) + "1" + strings.Repeat("}", 24),
		"selections": "item" + strings.Repeat(".a", 4000),
		"garbage":    strings.Repeat("(]{'", 2000),
		"unknown":    strings.Repeat("a+", 4000) + "a",
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			_, err := Compile(src, scope)
			t.Logf("%v %.200v", time.Since(begin), err)
			require.Less(t, time.Since(begin), 4*time.Second)
		})
	}
}
