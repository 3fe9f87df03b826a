package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var scope = Scope{
	Params: map[string]string{
		"region": "string", "count": "integer", "rate": "number", "dry": "boolean",
		"options": "object", "days": "array",
	},
	Nodes: []string{"clean", "extract", "load-all"},
	Extra: []string{"item", "shard"},
}

func TestCompileNotesWhatIsRead(t *testing.T) {
	for src, want := range map[string]struct{ nodes, params []string }{
		`nodes.clean.output.rows > 0`:                               {nodes: []string{"clean"}},
		`nodes["load-all"].output.ok && nodes.clean.output != null`: {nodes: []string{"clean", "load-all"}},
		`nodes["clean"]["output"]["rows"]`:                          {nodes: []string{"clean"}},
		`has(nodes.clean.output.rows)`:                              {nodes: []string{"clean"}},
		`has(nodes.clean.output)`:                                   {nodes: []string{"clean"}},
		`params.region == "cn"`:                                     {params: []string{"region"}},
		`params["region"] == params.options.x`:                      {params: []string{"options", "region"}},
		`has(params.region)`:                                        {params: []string{"region"}},
		`params`:                                                    {params: []string{"count", "days", "dry", "options", "rate", "region"}},
		`params[logical_date] == 1`:                                 {params: []string{"count", "days", "dry", "options", "rate", "region"}},
		`params.days.all(d, d in nodes.extract.output.days)`:        {nodes: []string{"extract"}, params: []string{"days"}},
		`{"a": [nodes.clean.output.x, params.count]}`:               {nodes: []string{"clean"}, params: []string{"count"}},
		`item.id + shard`:                                           {},
	} {
		t.Run(src, func(t *testing.T) {
			p, err := Compile(src, scope)
			require.NoError(t, err)
			require.ElementsMatch(t, want.nodes, p.Nodes())
			require.ElementsMatch(t, want.params, p.Params())
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	for src, want := range map[string]string{
		``:                                "1:1 the expression is empty",
		"  \n":                            "1:1 the expression is empty",
		`params.regoin == "cn"`:           `1:8 unknown parameter "regoin"; did you mean "region"?`,
		`params["xyz"]`:                   `1:8 unknown parameter "xyz"; known: count, days, dry, options, rate, region`,
		`has(params.regoin)`:              `unknown parameter "regoin"; did you mean "region"?`,
		`nodes.claen.output`:              `1:7 "claen" is not a node that comes before; did you mean "clean"?`,
		`nodes["load_all"].output`:        `"load_all" is not a node that comes before; did you mean "load-all"?`,
		`1 + nodes.load-all.output`:       `1:5 the name of this node needs quotes: nodes["load-all"].output`,
		`has(nodes.claen.output)`:         `"claen" is not a node that comes before; did you mean "clean"?`,
		`nodes.clean.outptu`:              `1:13 a node has only its output, not "outptu": nodes.clean.output`,
		`nodes.clean`:                     `1:7 a node has only its output: nodes.clean.output`,
		`nodes["load-all"]`:               `a node has only its output: nodes["load-all"].output`,
		`has(nodes.clean)`:                `a node has only its output: nodes.clean.output`,
		`nodes`:                           `nodes needs the name of a node, as in nodes.NAME.output`,
		`nodes.exists(n, true)`:           `nodes needs the name of a node`,
		`nodes[params.region].output`:     `a node is named in full, as in nodes["NAME"].output`,
		`secrets.token`:                   `secrets is a reserved name`,
		`region == "cn"`:                  `1:1 unknown name "region"; did you mean params.region?`,
		`load > 1`:                        `unknown name "load"`,
		`clean.rows`:                      `unknown name "clean"; did you mean nodes.clean.output?`,
		`logical_dat`:                     `unknown name "logical_dat"; did you mean "logical_date"?`,
		`params.region > 3`:               `1:15 > cannot be applied to (string, int)`,
		`params.rate * 2`:                 `* cannot be applied to (double, int)`,
		`params.dry + 1`:                  `+ cannot be applied to (bool, int)`,
		`siez(params.days)`:               `unknown name "siez"; did you mean "size"?`,
		`params.days["x"]`:                `[ ] cannot be applied to (list(dyn), string)`,
		`size(3)`:                         `size cannot be applied to (int)`,
		`1 +`:                             `1:4 the expression ends too early`,
		"1 +\n 2 )":                       `2:4 unexpected ")"`,
		`"a".matches("(")`:                `invalid matches argument`,
		`timestamp("yesterday")`:          `timestamp`,
		`[1].map(params, params)`:         `params cannot be the name of an element`,
		`[1].map(nodes, 1)`:               `nodes cannot be the name of an element`,
		`__result__`:                      `unknown name "__result__"`,
		`"\xff"` + "\xff":                 `the expression is not valid UTF-8`,
		`google.protobuf.Int32Value{}`:    `objects are written {"name": value}`,
		strings.Repeat("1+", 5000) + "1":  `at most 8192 are allowed`,
		strings.Repeat("[", 4000) + "1":   `nested more than 24 brackets deep`,
		strings.Repeat("1+", 200) + "1":   `max recursion depth exceeded`,
		strings.Repeat("!", 4001) + "dry": `unknown name "dry"`,
	} {
		t.Run(clip(src), func(t *testing.T) {
			_, err := Compile(src, scope)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Msg), want)
			require.Equal(t, src, e.Source)
		})
	}
}

func TestCompileReportsAllProblems(t *testing.T) {
	_, err := Compile("params.regoin + params.cuont", scope)
	require.ErrorContains(t, err, `did you mean "region"`)
	require.ErrorContains(t, err, `did you mean "count"`)
}

func TestCompileWithNothingInScope(t *testing.T) {
	_, err := Compile("params.x", Scope{})
	require.ErrorContains(t, err, `unknown parameter "x"; there are none here`)
	_, err = Compile("nodes.x.output", Scope{})
	require.ErrorContains(t, err, `"x" is not a node that comes before; there are none here`)
}

func TestErrorShowsItsPlace(t *testing.T) {
	e := &Error{Source: "params.x", Line: 1, Column: 8, Msg: "unknown"}
	require.EqualError(t, e, "unknown (column 8 of `params.x`)")
	e = &Error{Source: "a\nb", Line: 2, Column: 1, Msg: "unknown"}
	require.EqualError(t, e, "line 2, column 1: unknown")
	e = &Error{Source: strings.Repeat("x", 200), Line: 1, Column: 1, Msg: "long"}
	require.Less(t, len(e.Error()), 150)
}

func TestBool(t *testing.T) {
	for src, want := range map[string]bool{
		`params.count > 1`: true, `params.dry`: true, `nodes.clean.output`: true, `item`: true,
		`params.region`: false, `1`: false, `params`: false, `null`: false,
	} {
		p, err := Compile(src, scope)
		require.NoError(t, err)
		require.Equal(t, want, p.Bool(), src)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"claen", "clean", 1}, {"kitten", "sitting", 3}, {"日报", "日抱", 1}} {
		require.Equal(t, c.want, distance(c.a, c.b))
		require.Equal(t, c.want, distance(c.b, c.a))
	}
}
