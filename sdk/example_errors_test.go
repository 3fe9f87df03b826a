package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ax-run/ax/sdk"
)

// A function says with its error what is to be done about it.
func ExamplePermanent() {
	pay := func(ctx context.Context, order string) error {
		sdk.Logger(ctx).Debug("paying", "order", order, "idempotency_key", sdk.AttemptFrom(ctx).ExecutionID)
		switch order {
		case "unknown":
			return sdk.PermanentCode("no_order", errors.New("there is no such order"))
		case "busy":
			return sdk.RetryAfter(30*time.Second, errors.New("the bank asks for patience"))
		case "paid":
			return sdk.Skip("it is paid already")
		}
		return errors.New("connection reset") // a fault that may pass: tried again as the node's policy says
	}

	for _, order := range []string{"unknown", "busy", "paid", "other"} {
		err := pay(context.Background(), order)
		var failed *sdk.Error
		var skipped *sdk.SkipError
		switch {
		case errors.As(err, &failed):
			fmt.Println(order, "- permanent:", failed.Permanent, "- not before:", failed.RetryAfter, "-", err)
		case errors.As(err, &skipped):
			fmt.Println(order, "- skipped -", skipped.Reason)
		default:
			fmt.Println(order, "-", err)
		}
	}
	// Output:
	// unknown - permanent: true - not before: 0s - there is no such order
	// busy - permanent: false - not before: 30s - the bank asks for patience
	// paid - skipped - it is paid already
	// other - connection reset
}
