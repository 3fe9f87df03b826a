package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Policy says which places requests may go to, besides public addresses. The
// zero Policy allows no others.
type Policy struct {
	// Allow lists addresses, networks (10.1.0.0/16) and host names. A host name
	// allows whatever address it resolves to. ParsePolicy checks the list; an
	// entry that it would refuse allows nothing.
	Allow []string
	// AllowLoopback allows this machine, as `ax dev` does.
	AllowLoopback bool
}

// ParsePolicy makes a policy of the values of --allow-http-targets, or gives all
// that are wrong, joined.
func ParsePolicy(allow []string) (Policy, error) {
	var r rules
	var wrong []error
	for _, entry := range allow {
		if err := r.add(entry); err != nil {
			wrong = append(wrong, err)
		}
	}
	if len(wrong) > 0 {
		return Policy{}, errors.Join(wrong...)
	}
	return Policy{Allow: allow}, nil
}

// CheckURL tells, before anything is requested or resolved, whether a URL can be
// one to request: an *InvalidURLError or a *ForbiddenError if not. A name that
// passes may still resolve to a forbidden address when it is dialled.
func (p Policy) CheckURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return &InvalidURLError{URL: Redact(raw), Reason: "cannot be parsed"}
	}
	return p.rules().url(u)
}

// rules are a policy, parsed.
type rules struct {
	networks []netip.Prefix
	hosts    []string
	loopback bool
}

func (p Policy) rules() rules {
	r := rules{loopback: p.AllowLoopback}
	for _, entry := range p.Allow {
		if err := r.add(entry); err != nil {
			continue // allows nothing
		}
	}
	return r
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)

func (r *rules) add(entry string) error {
	entry = strings.TrimSpace(entry)
	if a, err := netip.ParseAddr(entry); err == nil {
		a = plain(a)
		r.networks = append(r.networks, netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	if n, err := netip.ParsePrefix(entry); err == nil && !n.Addr().Is4In6() {
		r.networks = append(r.networks, n.Masked())
		return nil
	}
	host := canonical(entry)
	if !hostName.MatchString(host) || isNumeric(host) {
		return fmt.Errorf("allowed target %q is not an address, a network such as 10.1.0.0/16, or a host name (without scheme, port or path)", entry)
	}
	r.hosts = append(r.hosts, host)
	return nil
}

// url checks what can be seen in a URL.
func (r rules) url(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return &InvalidURLError{URL: Redact(u.String()), Reason: "must begin with http:// or https://"}
	}
	if u.Hostname() == "" {
		return &InvalidURLError{URL: Redact(u.String()), Reason: "has no host"}
	}
	return r.host(u.Hostname())
}

// host checks a name or a literal address, without resolving it.
func (r rules) host(name string) error {
	if r.named(name) {
		return nil
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return r.address(name, a)
	}
	host := canonical(name)
	switch {
	case isNumeric(host):
		return &ForbiddenError{Host: name, Reason: disguised}
	case (host == "localhost" || strings.HasSuffix(host, ".localhost")) && !r.loopback:
		return &ForbiddenError{Host: name, Reason: "this machine"}
	}
	return nil
}

// named tells whether the host is listed by its name.
func (r rules) named(host string) bool { return slices.Contains(r.hosts, canonical(host)) }

// address checks one address of a host.
func (r rules) address(host string, a netip.Addr) error {
	a = plain(a)
	for _, n := range r.networks {
		if n.Contains(a) {
			return nil
		}
	}
	what := classify(a)
	if what == "" || what == loopback && r.loopback {
		return nil
	}
	return &ForbiddenError{Host: host, Addr: a, Reason: what}
}

// plain takes an IPv4 address out of IPv6, and the zone off.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func canonical(host string) string {
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

var number = regexp.MustCompile(`^([0-9]+|0x[0-9a-f]*)$`)

// isNumeric tells whether a host is an IPv4 address to some resolvers: its last
// label is a number, as in 127.1, 2130706433, 0177.0.0.1 and 0x7f000001.
func isNumeric(host string) bool {
	return number.MatchString(host[strings.LastIndexByte(host, '.')+1:])
}
