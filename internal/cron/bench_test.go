package cron_test

import (
	"testing"
	"time"

	"github.com/ax-run/ax/internal/cron"
)

func BenchmarkNext(b *testing.B) {
	from := instant(b, "2026-11-30T09:05:09Z")
	for _, c := range []struct{ name, expr, zone string }{
		{"EveryMinute", "* * * * *", "Asia/Shanghai"},
		{"Nightly", "0 30 2 * * ?", "Europe/Berlin"},
		{"LastFriday", "0 0 9 ? * FRIL", "Europe/Berlin"},
		{"LeapMonday", "0 0 9 ? 2 MON#5", "Europe/Berlin"},
		{"Impossible", "0 0 30 2 *", "Europe/Berlin"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := schedule(b, c.expr, c.zone, cron.Options{})
			b.ReportAllocs()
			for b.Loop() {
				s.Next(from)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		schedule(b, "0 0/15 8-18 ? * MON-FRI", "Europe/Berlin", cron.Options{})
	}
}

// The first schedule of a zone pays for its table.
func BenchmarkFirstOfZone(b *testing.B) {
	for b.Loop() {
		zone, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := cron.Parse("@daily", cron.Options{Zone: zone}); err != nil {
			b.Fatal(err)
		}
	}
}
