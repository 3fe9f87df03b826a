package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const (
	dialTimeout  = 5 * time.Second // per address
	maxAddresses = 4               // of one host
)

// Resolver finds the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// dialer connects to addresses that it has checked itself.
type dialer struct {
	rules    rules
	resolver Resolver
	net      net.Dialer
}

// dial resolves once and connects to the first address that the rules allow and
// that answers. A host with no such address is a *ForbiddenError.
func (d *dialer) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	addresses, err := d.allowed(ctx, host)
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, a := range addresses {
		conn, err := d.net.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// allowed gives the addresses of a host that may be dialled: at least one.
func (d *dialer) allowed(ctx context.Context, host string) ([]netip.Addr, error) {
	if err := d.rules.host(host); err != nil {
		return nil, err
	}
	addresses, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var allowed []netip.Addr
	var refused error
	for _, a := range addresses {
		if err := d.rules.address(host, a); err != nil && !d.rules.named(host) {
			refused = err
			continue
		}
		allowed = append(allowed, a.Unmap())
	}
	if len(allowed) == 0 {
		return nil, refused
	}
	return allowed[:min(len(allowed), maxAddresses)], nil
}

func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addresses, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("resolve host: %w", err)
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("resolve host: %s has no address", host)
	}
	return addresses, nil
}
