package cron_test

import (
	"fmt"
	"time"

	"github.com/ax-run/ax/internal/cron"
)

// The next fires of a nightly schedule over the night in which Berlin skips 02:00 to 03:00.
func ExampleSchedule_Next() {
	zone, err := cron.LoadZone("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	nightly, err := cron.Parse("0 30 2 * * ?", cron.Options{Zone: zone})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, time.March, 27, 12, 0, 0, 0, zone)
	for range 3 {
		at, _ = nightly.Next(at)
		fmt.Println(at)
	}
	// Output:
	// 2026-03-28 02:30:00 +0100 CET
	// 2026-03-29 03:00:00 +0200 CEST
	// 2026-03-30 02:30:00 +0200 CEST
}

func ExampleParse_refused() {
	_, err := cron.Parse("0 0 24 * * ?", cron.Options{})
	fmt.Println(err)
	// Output: cron "0 0 24 * * ?": hour "24": 24 is out of range 0-23
}
