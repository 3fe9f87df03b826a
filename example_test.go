package ax_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/sdk"
)

// A whole service: one workflow, planned and run until the program is interrupted.
func ExampleRun() {
	wf := sdk.NewWorkflow("greet.daily", sdk.Cron("0 8 * * *", "Asia/Shanghai"))
	name := sdk.Node(wf, "name", func(context.Context, struct{}) (string, error) { return "world", nil })
	sdk.Node1(wf, "greet", func(ctx context.Context, name string) (struct{}, error) {
		sdk.Logger(ctx).Info("hello, " + name)
		return struct{}{}, nil
	}, name)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	pool, err := ax.Open(ctx, os.Getenv("AX_DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	if err := ax.Run(ctx, pool, wf); err != nil {
		fmt.Println(err)
	}
}
