package expr

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var shanghai = time.FixedZone("CST", 8*3600)

func vars() Vars {
	return Vars{
		Params: json.RawMessage(`{"region":"cn","count":3,"rate":2,"dry":true,"options":{"x":1.50},"days":["mon","tue"]}`),
		Nodes: map[string]json.RawMessage{
			"clean":    json.RawMessage(`{"rows": 7, "price": 0.10, "big": 123456789012345678901234567890, "huge": 1e400, "list": [1,{"a b":"x"}], "tag":"<&>"}`),
			"load-all": json.RawMessage(`[1, 2.0, -9223372036854775808]`),
		},
		Extra:       map[string]json.RawMessage{"item": json.RawMessage(`{"id":5}`)},
		ScheduledAt: time.Date(2026, 12, 1, 2, 30, 0, 0, shanghai),
		LogicalDate: "2026-12-01", RunID: "r-1", Workflow: "report.daily",
	}
}

func eval(t *testing.T, src string) (string, error) {
	t.Helper()
	p, err := Compile(src, scope)
	require.NoError(t, err, src)
	raw, err := p.Eval(t.Context(), vars())
	return string(raw), err
}

func TestEval(t *testing.T) {
	for src, want := range map[string]string{
		// A value that is only named keeps its text.
		`nodes.clean.output`:                     string(vars().Nodes["clean"]),
		`nodes.clean.output.price`:               `0.10`,
		`nodes.clean.output.big`:                 `123456789012345678901234567890`,
		`nodes.clean.output["huge"]`:             `1e400`,
		`nodes.clean.output.list[1]["a b"]`:      `"x"`,
		`nodes["load-all"].output[2]`:            `-9223372036854775808`,
		`nodes["load-all"].output[1]`:            `2.0`,
		`nodes.extract.output`:                   `null`,
		`params`:                                 string(vars().Params),
		`params.options`:                         `{"x":1.50}`,
		`params["region"]`:                       `"cn"`,
		`item`:                                   `{"id":5}`,
		`shard`:                                  `null`,
		`item.id`:                                `5`,
		`{"a": nodes.clean.output.big}`:          `{"a":123456789012345678901234567890}`,
		`[nodes.clean.output.huge]`:              `[1e400]`,
		`nodes.clean.output.tag + "!"`:           `"<&>!"`,
		`nodes["load-all"].output.map(x, x)`:     `[1,2,-9223372036854775808]`,
		`nodes.clean.output.rows + 1`:            `8`,
		`nodes.clean.output.price * 3.0`:         `0.30000000000000004`,
		`-9223372036854775808`:                   `-9223372036854775808`,
		`params.count + 1`:                       `4`,
		`params.rate / 4.0`:                      `0.5`,
		`params.rate > 1`:                        `true`,
		`params.days.map(d, d.upperAscii())`:     `["MON","TUE"]`,
		`params.days.join("-")`:                  `"mon-tue"`,
		`has(params.region)`:                     `true`,
		`has(nodes.clean.output.nope)`:           `false`,
		`nodes.extract.output == null`:           `true`,
		`scheduled_at`:                           `"2026-12-01T02:30:00+08:00"`,
		`scheduled_at - duration("1h")`:          `"2026-12-01T01:30:00+08:00"`,
		`previous_scheduled_at == null`:          `true`,
		`date(logical_date) + duration("24h")`:   `"2026-12-02T00:00:00Z"`,
		`scheduled_at.getDayOfMonth()`:           `29`,
		`scheduled_at.getHours("Asia/Shanghai")`: `2`,
		`duration("90m")`:                        `"5400s"`,
		`[run_id, workflow, logical_date]`:       `["r-1","report.daily","2026-12-01"]`,
		`"a1b2".matches("^([a-z][0-9])+$")`:      `true`,
		`math.greatest([1, 5, 3])`:               `5`,
		`sets.contains([1, 2], [2])`:             `true`,
		`lists.range(3)`:                         `[0,1,2]`,
		`[3, 1, 2].sort()`:                       `[1,2,3]`,
		`base64.encode(b"hi")`:                   `"aGk="`,
		`b"hi"`:                                  `"aGk="`,
		`"%s has %d".format([params.region, 3])`: `"cn has 3"`,
		`{"b": 1, "a": {}, "c": []}`:             `{"a":{},"b":1,"c":[]}`,
		`3u`:                                     `3`,
		`null`:                                   `null`,
		"1 // one\n + 1":                         `2`,
	} {
		t.Run(src, func(t *testing.T) {
			got, err := eval(t, src)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestEvalRefuses(t *testing.T) {
	for src, want := range map[string]string{
		`nodes.clean.output.nope`:                `nodes.clean.output has no "nope"`,
		`nodes.clean.output.nope + 1`:            `no such key: nope`,
		`nodes.clean.output.rows.x`:              `nodes.clean.output.rows is not an object, so it has no "x"`,
		`nodes.extract.output.rows`:              `nodes.extract.output is null, so it has no "rows"`,
		`nodes["load-all"].output[9]`:            `nodes["load-all"].output has 3 elements, so it has no [9]`,
		`nodes["load-all"].output[-1]`:           `so it has no [-1]`,
		`item[0]`:                                `item is not a list, so it has no [0]`,
		`nodes.clean.output["a"]["b c"].x`:       `nodes.clean.output has no "a"`,
		`nodes.clean.output.big + 1`:             `beyond what can be computed exactly`,
		`1 + nodes.clean.output.big`:             `beyond what can be computed exactly`,
		`nodes.clean.output.huge > 1.0`:          `beyond what can be computed exactly`,
		`-nodes.clean.output.big`:                `beyond what can be computed exactly`,
		`1.0 / 0.0`:                              `the result is +Inf`,
		`0.0 / 0.0`:                              `the result is NaN`,
		`[1.0 / 0.0]`:                            `the result is +Inf`,
		`1 / 0`:                                  `division by zero`,
		`9223372036854775807 + 1`:                `integer overflow`,
		`{1: 2}`:                                 `a key that is not a string`,
		`type(1)`:                                `a type has no JSON form`,
		`previous_scheduled_at + duration("1h")`: `does not fit`,
		`date("2026-13-01")`:                     `2026-13-01`,
		`params[logical_date] == 1`:              `no such key`,
	} {
		t.Run(src, func(t *testing.T) {
			_, err := eval(t, src)
			var failed *EvalError
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, err, want)
		})
	}
}

func TestEvalBool(t *testing.T) {
	for src, want := range map[string]bool{
		`nodes.clean.output.rows > 0`: true,
		`params.dry`:                  true,
		`nodes.clean.output.big == nodes.clean.output.big`: true,
		`nodes.clean.output.big == 1`:                      false,
		`1.0 / 0.0 > 1.0`:                                  true,
	} {
		p, err := Compile(src, scope)
		require.NoError(t, err)
		got, err := p.EvalBool(t.Context(), vars())
		require.NoError(t, err)
		require.Equal(t, want, got, src)
	}
	p, err := Compile(`nodes.clean.output.rows`, scope)
	require.NoError(t, err)
	_, err = p.EvalBool(t.Context(), vars())
	require.ErrorContains(t, err, "the condition gives a value of type int, not true or false")
}

func TestParamsOfAnotherKindThanDeclared(t *testing.T) {
	v := Vars{Params: json.RawMessage(`{"count": 3.0, "rate": 9007199254740993, "region": 5}`)}
	for src, want := range map[string]string{`params.count + 1`: `4`, `params.rate`: `9007199254740993`} {
		p, err := Compile(src, scope)
		require.NoError(t, err)
		got, err := p.Eval(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	for _, src := range []string{`params.rate + 1.0`, `params.region + "x"`, `params.dry && true`} {
		p, err := Compile(src, scope)
		require.NoError(t, err)
		_, err = p.Eval(t.Context(), v)
		require.Error(t, err, src)
	}
}

func TestBadJSONIsAnError(t *testing.T) {
	for _, v := range []Vars{
		{Params: json.RawMessage(`{"count": `)},
		{Params: json.RawMessage(`[1]`)},
		{Params: json.RawMessage(`{"count": 1}`), Nodes: map[string]json.RawMessage{"clean": json.RawMessage(`1 2`)}},
		{Params: json.RawMessage(`{"count": 1}`), Extra: map[string]json.RawMessage{"item": json.RawMessage(`x`)}},
	} {
		p, err := Compile(`params.count == 1 || nodes.clean.output == 1 || item == 1`, scope)
		require.NoError(t, err)
		_, err = p.EvalBool(t.Context(), v)
		require.ErrorContains(t, err, "decode JSON")
	}
}

func TestEvalStopsWithItsCaller(t *testing.T) {
	p, err := Compile(`lists.range(1000).all(a, lists.range(1000).all(b, true))`, scope)
	require.NoError(t, err)
	gone := errors.New("the worker stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	_, err = p.Eval(ctx, Vars{})
	require.ErrorIs(t, err, gone)
	var failed *EvalError
	require.NotErrorAs(t, err, &failed)
}

func TestConcurrentEval(t *testing.T) {
	p, err := Compile(`nodes.clean.output.list.filter(x, x != 1).size() + params.count`, scope)
	require.NoError(t, err)
	v := vars()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				raw, err := p.Eval(t.Context(), v)
				if err != nil || string(raw) != "4" {
					t.Errorf("got %s, %v", raw, err)
				}
			}
		})
	}
	group.Wait()
}

func TestNestedInput(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
	p, err := Compile(`[item]`, scope)
	require.NoError(t, err)
	_, err = p.Eval(t.Context(), Vars{Extra: map[string]json.RawMessage{"item": deep}})
	require.ErrorIs(t, err, ErrTooCostly)
}
