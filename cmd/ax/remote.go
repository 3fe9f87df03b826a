package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// defaultListen is where servers listen, and where the other verbs look for one.
const defaultListen = "127.0.0.1:7420"

// remote says which server a verb talks to, and as whom.
type remote struct {
	server, token, namespace, context string
}

func (r *remote) flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&r.server, "server", "http://"+defaultListen, "the server's URL")
	f.StringVar(&r.token, "token", "", "the token to sign in with")
	f.StringVar(&r.namespace, "namespace", "default", "the namespace")
	f.StringVar(&r.context, "context", "", "the context of the config file to use")
}

// client makes a client of the server that the flags name.
func (c *call) client() (*client, error) {
	base, err := url.Parse(c.remote.server)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, failure(exitUsage, "the server %q is no URL: write it as http://127.0.0.1:7420", c.remote.server)
	}
	base.RawQuery, base.Fragment, base.User = "", "", nil
	return newClient(strings.TrimSuffix(base.String(), "/"), c.remote.token, c.remote.namespace), nil
}

// unreachable says that a server or a database does not answer.
type unreachable struct {
	what string
	err  error
	hint string
}

// Error says what cannot be reached, why, and what to do.
func (u *unreachable) Error() string {
	return fmt.Sprintf("cannot reach %s: %v; %s", u.what, u.err, u.hint)
}

// Unwrap returns the reason.
func (u *unreachable) Unwrap() error { return u.err }

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
