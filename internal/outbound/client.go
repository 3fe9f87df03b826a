package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const maxRedirects = 5

// Options are a client's settings other than its policy; the zero value is good.
type Options struct {
	// Timeout is for a whole request, body included; 0 leaves it to the context.
	Timeout time.Duration
	// Resolver finds addresses; nil is the system's.
	Resolver Resolver
	// ProxyFromEnvironment sends requests through HTTP_PROXY and its kin. The
	// proxy's own address must be allowed, and names are then resolved by the
	// proxy, which has to keep the policy in this package's place.
	ProxyFromEnvironment bool
}

// NewClient makes a client that keeps to a policy. It follows at most five
// redirects, none from https to http, and uses no proxy unless asked. What it
// refuses is an *InvalidURLError or a *ForbiddenError inside the *url.Error that
// http.Client makes, which quotes the whole URL: show it through RedactError.
func NewClient(p Policy, o Options) *http.Client {
	r := p.rules()
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	d := &dialer{rules: r, resolver: o.Resolver, net: net.Dialer{Timeout: dialTimeout}}
	transport := &http.Transport{
		DialContext:            d.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           200,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 256 << 10,
	}
	if o.ProxyFromEnvironment {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{Transport: &guard{r, transport}, CheckRedirect: checkRedirect, Timeout: o.Timeout}
}

// guard checks the URL of every request, each redirect's too.
type guard struct {
	rules rules
	next  *http.Transport
}

// RoundTrip refuses what the rules forbid, and sends the rest.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.rules.url(req.URL); err != nil {
		if req.Body != nil {
			err = errors.Join(err, req.Body.Close())
		}
		return nil, err
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if location := resp.Header.Get("Location"); location != "" {
		if _, err := url.Parse(location); err != nil { // http.Client would quote it
			resp.Header.Del("Location")
		}
	}
	return resp, nil
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (g *guard) CloseIdleConnections() { g.next.CloseIdleConnections() }

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme == "http" {
		return errors.New("a redirect from https to http is refused")
	}
	return nil
}
