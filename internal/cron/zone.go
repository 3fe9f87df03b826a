package cron

import (
	_ "embed"
	"path"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a server without zone files still knows every zone
)

// zoneNames is every name of the IANA database, one a line, and serves suggestions only.
//
//go:embed zones.txt
var zoneNames string

var zones sync.Map // name → *time.Location, so that the schedules of one zone share its table

// LoadZone returns the zone of an IANA name such as "Asia/Shanghai" (S6). It never means
// the machine's own zone: "" and "Local" are refused. Every refusal is a *ZoneError.
func LoadZone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	if name == "" || name == "Local" {
		return nil, &ZoneError{Name: name}
	}
	if fileOnly(name) {
		return nil, &ZoneError{Name: name, Near: nearZone(path.Base(name))}
	}
	near := nearZone(name)
	if near != name && strings.EqualFold(near, name) {
		// A file system that ignores case would find it, and the next machine would not.
		return nil, &ZoneError{Name: name, Near: near}
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, &ZoneError{Name: name, Near: near}
	}
	shared, _ := zones.LoadOrStore(name, zone)
	return shared.(*time.Location), nil
}

// fileOnly reports whether a name is that of a file among the zones' files and of no zone: the machine's own zone, the placeholder of a
// machine without one, and the copies with and without leap seconds, which another machine need not have.
func fileOnly(name string) bool {
	top, _, below := strings.Cut(name, "/")
	switch top {
	case "localtime", "posixrules", "Factory":
		return true
	case "posix", "right":
		return below
	}
	return false
}

// nearZone returns the zone that name is, but for case and blanks, or whose city it is; "" if there is none.
func nearZone(name string) string {
	sought := strings.ReplaceAll(strings.TrimSpace(name), " ", "_")
	city := ""
	for zone := range strings.Lines(zoneNames) {
		zone = strings.TrimSuffix(zone, "\n")
		if strings.EqualFold(zone, sought) {
			return zone
		}
		if _, last, ok := strings.Cut(zone, "/"); ok && city == "" && strings.EqualFold(last, sought) {
			city = zone
		}
	}
	return city
}
