package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// conformanceFlags are what `ax worker conformance` may be told.
type conformanceFlags struct {
	url, key, listen, publicURL string
	timeout                     time.Duration
}

func newConformance(c *call) *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Try whether a worker of your own keeps to the worker protocol",
		Long: "Plays the server to one worker and tells what it does wrong. With --url it calls a worker that http nodes call; otherwise it waits until\n" +
			"one registers at --listen, and then polls or is pushed to. The worker has these handlers, named by the node where nothing registers:\n\n" +
			"  conformance.echo       gives back its inputs as its output\n" +
			"  conformance.permanent  fails with an error of the class permanent\n" +
			"  conformance.system     fails with an error of the class system\n" +
			"  conformance.skip       is skipped\n" +
			"  conformance.sleep      takes inputs.seconds, or ends early when it is canceled\n\n" +
			"The result is a line for each check; the exit code is 1 when one failed.",
		Example: "  ax worker conformance --url http://127.0.0.1:8000/ --key secret\n" +
			"  ax worker conformance --listen 127.0.0.1:7421   # and start the worker with this server",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.conformance(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "where the worker is called; it registers here when left out")
	flags.StringVar(&f.key, "key", "", "the key of the signatures on what it is sent there")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "the address to be reached at")
	flags.StringVar(&f.publicURL, "public-url", "", "how the worker reaches that address, when not as it is written")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long to wait for each answer")
	return cmd
}

// verdict is what came of one check.
type verdict struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Why   string `json:"why,omitempty"`
}

func (c *call) conformance(ctx context.Context, f conformanceFlags) error {
	if f.timeout < time.Second || f.timeout > time.Hour {
		return failure(exitUsage, "--timeout %s: give something between 1s and 1h", f.timeout)
	}
	listener, err := listen(f.listen)
	if err != nil {
		return err
	}
	kit := newKit(f, listener)
	defer kit.close()
	if f.url == "" {
		if _, err := fmt.Fprintf(c.err, "waiting for a worker to register at %s\n", kit.base); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		if err := kit.awaitWorker(ctx); err != nil {
			return err
		}
	}
	verdicts, failed := []verdict{}, 0
	for _, trial := range kit.trials() {
		v := verdict{Check: trial.name, OK: true}
		if err := trial.do(ctx); err != nil {
			v.OK, v.Why = false, err.Error()
			failed++
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		verdicts = append(verdicts, v)
	}
	err = c.show(verdicts, func() string { return c.verdictText(verdicts) })
	if err == nil && failed > 0 {
		err = failure(exitFailed, "%d of %d checks failed", failed, len(verdicts))
	}
	return err
}

func (c *call) verdictText(verdicts []verdict) string {
	t := table{header: []string{"CHECK", "RESULT", "WHY"}}
	for _, v := range verdicts {
		result := cell{"ok", green}
		if !v.OK {
			result = cell{"failed", red}
		}
		t.add(plain(v.Check), result, plain(v.Why))
	}
	return t.render(c.colour)
}

// trial is one thing that a worker must do.
type trial struct {
	name string
	do   func(ctx context.Context) error
}

// trials are all that this sort of worker is asked for.
func (k *kit) trials() []trial {
	all := []trial{
		{"gives back inputs to the letter", k.echoes},
		{"fails for good", k.ends("conformance.permanent", "failed", "permanent")},
		{"fails so that it may be tried again", k.ends("conformance.system", "failed", "system")},
		{"skips", k.ends("conformance.skip", "skipped", "")},
		{"refuses a handler that it does not know for good", k.unknown},
		{"runs several at once", k.together},
		{"reports under the number of the attempt", k.numbers},
	}
	if k.key() != "" && k.address() != "" {
		all = append(all, trial{"refuses a wrong signature", k.refuses(func(body []byte) string { return k.sign("not "+k.key(), time.Now(), body) })},
			trial{"refuses a signature from ten minutes ago", k.refuses(func(body []byte) string { return k.sign(k.key(), time.Now().Add(-10*time.Minute), body) })},
			trial{"refuses what is not signed", k.refuses(func([]byte) string { return "" })})
	}
	if k.flags.url == "" {
		all = append(all, trial{"says at heartbeats what it runs", k.beats}, trial{"stops what is canceled", k.stops})
	}
	return all
}

// ends asks a handler to end in one way.
func (k *kit) ends(handler, status, class string) func(context.Context) error {
	return func(ctx context.Context) error {
		r, err := k.run(ctx, k.order(handler, `{}`))
		switch {
		case err != nil:
			return err
		case r.Status != status:
			return fmt.Errorf("its status is %q, not %s", r.Status, status)
		case class != "" && r.Error.Class != class:
			return fmt.Errorf("the class of its error is %q, not %s", r.Error.Class, class)
		case class != "" && r.Error.Message == "":
			return errors.New("its error has no message")
		}
		return nil
	}
}

const trickyInputs = `{"text":"schöne Grüße \u2028 \"😀\" \\","whole":9007199254740991,"half":0.5,"none":null,"list":[[],{}],"deep":{"a":{"b":[true,false]}}}`

func (k *kit) echoes(ctx context.Context) error {
	r, err := k.run(ctx, k.order("conformance.echo", trickyInputs))
	if err == nil && r.Status != "succeeded" {
		err = fmt.Errorf("its status is %q, not succeeded", r.Status)
	}
	if err == nil && !sameJSON(r.Output, []byte(trickyInputs)) {
		err = fmt.Errorf("its output is %.300s", r.Output)
	}
	return err
}

func (k *kit) unknown(ctx context.Context) error {
	r, err := k.run(ctx, k.order("conformance.unknown", `{}`))
	var refused *refusedOrder
	if errors.As(err, &refused) && refused.status >= 400 && refused.status < 500 && refused.status != 408 && refused.status != 429 {
		return nil
	}
	if err == nil && (r.Status != "failed" || r.Error.Class != "permanent") {
		err = fmt.Errorf("its status is %q and the class of its error %q, not failed and permanent", r.Status, r.Error.Class)
	}
	return err
}

// together gives out as many as the worker runs at once, each of which takes a while.
func (k *kit) together(ctx context.Context) error {
	n := min(k.capacity(), 4)
	orders := make([]*order, n)
	for i := range orders {
		orders[i] = k.order("conformance.sleep", `{"seconds": 0.5}`)
	}
	began := time.Now()
	errs := make(chan error, n)
	for _, o := range orders {
		go func() {
			_, err := k.run(ctx, o)
			errs <- err
		}()
	}
	for range orders {
		if err := <-errs; err != nil {
			return err
		}
	}
	if took := time.Since(began); n > 1 && took > time.Duration(n)*500*time.Millisecond {
		return fmt.Errorf("%d that take half a second each took %s", n, took.Round(time.Millisecond))
	}
	return nil
}

func (k *kit) numbers(ctx context.Context) error {
	o := k.order("conformance.echo", `{}`)
	o.Attempt = 7
	r, err := k.run(ctx, o)
	if err == nil && !r.answered && r.Attempt != 7 {
		err = fmt.Errorf("it was given attempt 7 and reports %d", r.Attempt)
	}
	return err
}

// refuses sends what a worker must not take.
func (k *kit) refuses(signature func(body []byte) string) func(context.Context) error {
	return func(ctx context.Context) error {
		status, _, err := k.post(ctx, k.order("conformance.echo", `{}`), signature)
		if err == nil && status != 401 && status != 403 {
			err = fmt.Errorf("it answered %d, not 401 or 403", status)
		}
		return err
	}
}

// beats looks whether what runs is named at a heartbeat.
func (k *kit) beats(ctx context.Context) error {
	o := k.order("conformance.sleep", `{"seconds": 60}`)
	if err := k.give(ctx, o); err != nil {
		return err
	}
	defer k.cancel(o)
	return k.until(ctx, "no heartbeat names what it runs", func() bool { return k.named(o) })
}

// stops cancels what runs and wants it to be named no more.
func (k *kit) stops(ctx context.Context) error {
	o := k.order("conformance.sleep", `{"seconds": 60}`)
	if err := k.give(ctx, o); err != nil {
		return err
	}
	if err := k.until(ctx, "no heartbeat names what it runs", func() bool { return k.named(o) }); err != nil {
		return err
	}
	k.cancel(o)
	return k.until(ctx, "it goes on with what was canceled", func() bool { return k.beatSince(o) && !k.named(o) })
}

// refusedOrder is an answer that takes nothing on.
type refusedOrder struct {
	status int
	body   string
}

// Error says what was answered.
func (r *refusedOrder) Error() string {
	return strings.TrimSpace(fmt.Sprintf("it answered %d %.200s", r.status, r.body))
}
