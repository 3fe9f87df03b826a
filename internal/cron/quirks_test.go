package cron_test

// quirk is one departure of Quartz 2.3.2 from its own documentation. There ax follows the
// documentation, and the fires it gives stand here.
type quirk struct {
	why   string
	fires map[string]string // what vector.String says → next five fires
}

// quirks is every departure that the vectors name.
var quirks = map[string]quirk{
	"nW-in-shorter-month-erratic": {
		why: "a month without the day has no nearest weekday to it",
		fires: map[string]string{
			"0 0 9 31W * ? in Asia/Shanghai from 2027-02-27T12:00:00+08:00": "2027-03-31T01:00:00Z,2027-05-31T01:00:00Z,2027-07-30T01:00:00Z,2027-08-31T01:00:00Z,2027-10-29T01:00:00Z",
			"0 0 9 31W * ? in Europe/Berlin from 2026-11-30T10:05:09+01:00": "2026-12-31T08:00:00Z,2027-01-29T08:00:00Z,2027-03-31T07:00:00Z,2027-05-31T07:00:00Z,2027-07-30T07:00:00Z",
			"0 0 9 29W 2 ? in Asia/Shanghai from 2026-01-31T00:00:00+08:00": "2028-02-29T01:00:00Z,2032-02-27T01:00:00Z,2036-02-29T01:00:00Z,2040-02-29T01:00:00Z,2044-02-29T01:00:00Z",
			"0 0 9 29W 2 ? in Asia/Shanghai from 2027-02-27T12:00:00+08:00": "2028-02-29T01:00:00Z,2032-02-27T01:00:00Z,2036-02-29T01:00:00Z,2040-02-29T01:00:00Z,2044-02-29T01:00:00Z",
		},
	},
	"year-limit-now+100": {
		why: "the end does not depend on when one asks",
		fires: map[string]string{
			"0 0 9 ? 2 SUN#5 in Asia/Shanghai from 2027-02-27T12:00:00+08:00":     "2032-02-29T01:00:00Z,2060-02-29T01:00:00Z,2088-02-29T01:00:00Z,2128-02-29T01:00:00Z,2156-02-29T01:00:00Z",
			"0 0 9 ? 2 SUN#5 in America/Sao_Paulo from 2026-10-17T22:00:00-03:00": "2032-02-29T12:00:00Z,2060-02-29T12:00:00Z,2088-02-29T12:00:00Z,2128-02-29T12:00:00Z,2156-02-29T12:00:00Z",
		},
	},
	"step-after-named-range-ignored": {
		why: "MON-FRI/2 is 2-6/2: Monday, Wednesday, Friday",
		fires: map[string]string{
			"0 0 9 ? * MON-FRI/2 in Asia/Shanghai from 2027-02-27T12:00:00+08:00":     "2027-03-01T01:00:00Z,2027-03-03T01:00:00Z,2027-03-05T01:00:00Z,2027-03-08T01:00:00Z,2027-03-10T01:00:00Z",
			"0 0 9 ? * MON-FRI/2 in America/Sao_Paulo from 2026-10-17T22:00:00-03:00": "2026-10-19T12:00:00Z,2026-10-21T12:00:00Z,2026-10-23T12:00:00Z,2026-10-26T12:00:00Z,2026-10-28T12:00:00Z",
		},
	},
	"from-inside-first-pass-loses-fires": {
		why: "the second pass fires, wherever one asks from",
		fires: map[string]string{
			"0 30 2 * * ? in Europe/Berlin from 2026-10-25T02:35:00+02:00":         "2026-10-25T01:30:00Z,2026-10-26T01:30:00Z,2026-10-27T01:30:00Z,2026-10-28T01:30:00Z,2026-10-29T01:30:00Z",
			"0 0 2 * * ? in Europe/Berlin from 2026-10-25T02:35:00+02:00":          "2026-10-25T01:00:00Z,2026-10-26T01:00:00Z,2026-10-27T01:00:00Z,2026-10-28T01:00:00Z,2026-10-29T01:00:00Z",
			"0 0 2 * * ? in Africa/Casablanca from 2026-02-15T02:35:00+01:00":      "2026-02-15T02:00:00Z,2026-02-16T02:00:00Z,2026-02-17T02:00:00Z,2026-02-18T02:00:00Z,2026-02-19T02:00:00Z",
			"0 0/15 * * * ? in Australia/Lord_Howe from 2026-04-05T01:50:00+11:00": "2026-04-04T15:00:00Z,2026-04-04T15:15:00Z,2026-04-04T15:30:00Z,2026-04-04T15:45:00Z,2026-04-04T16:00:00Z",
			"0 */10 * * * ? in Europe/Berlin from 2026-10-25T02:35:00+02:00":       "2026-10-25T01:00:00Z,2026-10-25T01:10:00Z,2026-10-25T01:20:00Z,2026-10-25T01:30:00Z,2026-10-25T01:40:00Z",
			"0 */10 * * * ? in Australia/Lord_Howe from 2026-04-05T01:50:00+11:00": "2026-04-04T15:00:00Z,2026-04-04T15:10:00Z,2026-04-04T15:20:00Z,2026-04-04T15:30:00Z,2026-04-04T15:40:00Z",
			"0 0/30 0-4 * * ? in Europe/Berlin from 2026-10-25T02:35:00+02:00":     "2026-10-25T01:00:00Z,2026-10-25T01:30:00Z,2026-10-25T02:00:00Z,2026-10-25T02:30:00Z,2026-10-25T03:00:00Z",
			"0 0/30 0-4 * * ? in Africa/Casablanca from 2026-02-15T02:35:00+01:00": "2026-02-15T02:00:00Z,2026-02-15T02:30:00Z,2026-02-15T03:00:00Z,2026-02-15T03:30:00Z,2026-02-15T04:00:00Z",
			"0 0,15,30,45 2 * * ? in Europe/Berlin from 2026-10-25T02:35:00+02:00": "2026-10-25T01:00:00Z,2026-10-25T01:15:00Z,2026-10-25T01:30:00Z,2026-10-25T01:45:00Z,2026-10-26T01:00:00Z",
			"0 30 1,2 * * ? in Australia/Lord_Howe from 2026-04-05T01:50:00+11:00": "2026-04-04T15:00:00Z,2026-04-04T16:00:00Z,2026-04-05T15:00:00Z,2026-04-05T16:00:00Z,2026-04-06T15:00:00Z",
			"0 20 1-2 * * ? in Europe/Berlin from 2026-10-25T02:35:00+02:00":       "2026-10-25T01:20:00Z,2026-10-26T00:20:00Z,2026-10-26T01:20:00Z,2026-10-27T00:20:00Z,2026-10-27T01:20:00Z",
		},
	},
}
