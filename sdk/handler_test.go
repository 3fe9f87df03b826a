package sdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/sdk"
)

// call declares one node and calls its handler.
func call(t *testing.T, declare func(wf *sdk.Workflow), c sdk.Call) (string, error) {
	t.Helper()
	wf := sdk.NewWorkflow("w", sdk.WithParams[region]())
	declare(wf)
	h := wf.Handlers()["w.n"]
	require.NotNil(t, h)
	out, err := h(t.Context(), c)
	return string(out), err
}

func parent[T any](wf *sdk.Workflow, name string) sdk.Output[T] {
	return sdk.Node(wf, name, func(context.Context, none) (out T, err error) { return out, nil })
}

func TestParametersReachTheFunction(t *testing.T) {
	out, err := call(t, func(wf *sdk.Workflow) {
		sdk.Node(wf, "n", func(_ context.Context, p region) (region, error) { return p, nil })
	}, sdk.Call{Params: json.RawMessage(`{"region": "<us>", "top": 3, "share": 0.5, "other": 1}`)})
	require.NoError(t, err)
	require.Equal(t, `{"region":"<us>","top":3,"share":0.5}`, out)
}

func TestInputsReachTheFunctionUnderTheirParentsNames(t *testing.T) {
	inputs := json.RawMessage(`{"a": 1, "b": null, "c": {"big": 12345678901234567890123}}`)
	out, err := call(t, func(wf *sdk.Workflow) {
		a, b, c := parent[int](wf, "a"), parent[string](wf, "b"), parent[map[string]any](wf, "c")
		sdk.Node3(wf, "n", func(_ context.Context, a int, b *string, c map[string]any) ([]any, error) {
			return []any{a, b, c}, nil
		}, a, sdk.Maybe(b), c)
	}, sdk.Call{Inputs: inputs})
	require.NoError(t, err)
	require.Equal(t, `[1,null,{"big":12345678901234567890123}]`, out)
}

func TestInputsReachTheFieldsOfAStruct(t *testing.T) {
	out, err := call(t, func(wf *sdk.Workflow) {
		orders, clean := parent[orders](wf, "a"), parent[cleaned](wf, "b")
		sdk.NodeIn(wf, "n", func(_ context.Context, in both) (both, error) { return in, nil },
			sdk.Inputs{"orders": orders, "clean": clean, "day": sdk.Expr[string]("logical_date")})
	}, sdk.Call{Inputs: json.RawMessage(`{"orders": {"Rows": 7}, "clean": null, "day": "2026-11-30"}`)})
	require.NoError(t, err)
	require.Equal(t, `{"orders":{"Rows":7},"clean":null,"day":"2026-11-30"}`, out)
}

func TestWhatDoesNotFitIsAPermanentError(t *testing.T) {
	one := func(wf *sdk.Workflow) {
		sdk.Node1(wf, "n", clean, parent[orders](wf, "a"))
	}
	in := func(wf *sdk.Workflow) {
		sdk.NodeIn(wf, "n", push, sdk.Inputs{"orders": parent[orders](wf, "a"), "clean": parent[cleaned](wf, "b"), "day": sdk.Expr[string]("logical_date")})
	}
	for _, c := range []struct {
		declare func(*sdk.Workflow)
		call    sdk.Call
		code    string
		want    string
	}{
		{one, sdk.Call{}, sdk.CodeInvalidInput, "read input a: it is missing"},
		{one, sdk.Call{Inputs: json.RawMessage(`{"a": null}`)}, sdk.CodeInvalidInput, "read input a: it is null, and sdk_test.orders cannot hold null"},
		{one, sdk.Call{Inputs: json.RawMessage(`{"a": []}`)}, sdk.CodeInvalidInput, "cannot unmarshal array"},
		{one, sdk.Call{Inputs: json.RawMessage(`[]`)}, sdk.CodeInvalidInput, "read inputs"},
		{in, sdk.Call{Inputs: json.RawMessage(`{"orders": {}, "clean": {}}`)}, sdk.CodeInvalidInput, "read input day: it is missing"},
		{in, sdk.Call{Inputs: json.RawMessage(`{"orders": null, "clean": {}, "day": ""}`)}, sdk.CodeInvalidInput, "read input orders: it is null"},
		{in, sdk.Call{Inputs: json.RawMessage(`{"orders": {}, "clean": {}, "day": 1}`)}, sdk.CodeInvalidInput, "cannot unmarshal number"},
		{func(wf *sdk.Workflow) { sdk.Node(wf, "n", extract) }, sdk.Call{Params: json.RawMessage(`{"top": "x"}`)}, sdk.CodeInvalidInput, "read parameters"},
		{func(wf *sdk.Workflow) {
			sdk.Node(wf, "n", func(context.Context, none) (float64, error) { return math.NaN(), nil })
		}, sdk.Call{}, sdk.CodeInvalidOutput, "encode output"},
	} {
		_, err := call(t, c.declare, c.call)
		var failed *sdk.Error
		require.True(t, errors.As(err, &failed), c.want)
		require.True(t, failed.Permanent, c.want)
		require.Equal(t, c.code, failed.Code)
		require.ErrorContains(t, err, c.want)
	}
}

func TestTheContextTellsOfTheAttempt(t *testing.T) {
	var log bytes.Buffer
	attempt := sdk.Attempt{ExecutionID: "r:n:1", Number: 2, LogicalDate: "2026-11-30"}
	out, err := call(t, func(wf *sdk.Workflow) {
		sdk.Node1(wf, "n", func(ctx context.Context, a int) (string, error) {
			p, err := sdk.Params[region](ctx)
			sdk.Logger(ctx).Info("hello")
			require.Equal(t, attempt, sdk.AttemptFrom(ctx))
			return p.Region + " " + sdk.LogicalDate(ctx), err
		}, parent[int](wf, "a"))
	}, sdk.Call{
		Attempt: attempt, Params: json.RawMessage(`{"region": "us"}`), Inputs: json.RawMessage(`{"a": 1}`),
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	require.Equal(t, `"us 2026-11-30"`, out)
	require.Contains(t, log.String(), "msg=hello")

	_, err = call(t, func(wf *sdk.Workflow) {
		sdk.Node(wf, "n", func(ctx context.Context, _ none) (struct{ Region int }, error) {
			return sdk.Params[struct{ Region int }](ctx)
		})
	}, sdk.Call{Params: json.RawMessage(`{"region": "us"}`)})
	var failed *sdk.Error
	require.True(t, errors.As(err, &failed) && failed.Permanent)
}

func TestOutsideOfAnAttemptFunctionsStillRun(t *testing.T) {
	require.Zero(t, sdk.AttemptFrom(t.Context()))
	require.Empty(t, sdk.LogicalDate(t.Context()))
	require.Same(t, slog.Default(), sdk.Logger(t.Context()))
	p, err := sdk.Params[region](t.Context())
	require.NoError(t, err)
	require.Zero(t, p)
}

func TestErrors(t *testing.T) {
	require.NoError(t, sdk.Permanent(nil))
	require.NoError(t, sdk.PermanentCode("x", nil))
	require.NoError(t, sdk.RetryAfter(time.Second, nil))
	cause := errors.New("no such order")
	require.ErrorIs(t, sdk.Permanent(cause), cause)
	require.EqualError(t, sdk.PermanentCode("no_order", cause), "no such order")
	require.EqualError(t, sdk.RetryAfter(time.Second, cause), "no such order")
	require.EqualError(t, sdk.Skip("a holiday"), "skipped: a holiday")
	require.EqualError(t, &sdk.Error{}, "failed")
}
