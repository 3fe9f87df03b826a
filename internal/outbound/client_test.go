package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// answers is a resolver that gives a host's lists of addresses one after the
// other, and the last of them for ever.
type answers struct {
	hosts map[string][][]string
	asked atomic.Int64
}

func (a *answers) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	lists := a.hosts[host]
	if len(lists) == 0 {
		return nil, errors.New("no such host")
	}
	n := int(a.asked.Add(1)) - 1
	var found []netip.Addr
	for _, text := range lists[min(n, len(lists)-1)] {
		found = append(found, netip.MustParseAddr(text))
	}
	return found, nil
}

// target is a server that counts the connections made to it.
type target struct {
	*httptest.Server
	connections atomic.Int64
}

func newTarget(t *testing.T, address string, handler http.HandlerFunc) *target {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	s := &target{Server: httptest.NewUnstartedServer(handler)}
	require.NoError(t, s.Listener.Close())
	s.Listener = listener
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// at is a URL of the target's port on some host.
func (s *target) at(host, path string) string {
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	return "http://" + net.JoinHostPort(host, port) + path
}

func get(t *testing.T, c *http.Client, target string) (*http.Response, error) {
	t.Helper()
	t.Cleanup(c.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	require.NoError(t, err)
	resp, err := c.Do(req)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, resp.Body.Close()) })
	}
	return resp, err
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestClientReachesOnlyWhatIsAllowed(t *testing.T) {
	server := newTarget(t, "127.0.0.1:0", hello)
	names := map[string][][]string{
		"evil.example":  {{"127.0.0.1"}},
		"mixed.example": {{"10.255.255.1", "127.0.0.1"}},
		"six.example":   {{"::ffff:127.0.0.1"}},
		"void.example":  {{}},
	}
	for _, c := range []struct {
		name, host string
		policy     Policy
		reached    bool
	}{
		{"literal", "127.0.0.1", Policy{}, false},
		{"mapped literal", "::ffff:127.0.0.1", Policy{}, false},
		{"hexadecimal", "0x7f000001", Policy{AllowLoopback: true}, false},
		{"name", "evil.example", Policy{}, false},
		{"name in capitals with a dot", "EVIL.example.", Policy{}, false},
		{"mapped by name", "six.example", Policy{}, false},
		{"all addresses forbidden", "mixed.example", Policy{}, false},
		{"no address", "void.example", Policy{AllowLoopback: true}, false},
		{"unknown name", "nowhere.example", Policy{AllowLoopback: true}, false},
		{"full-width digits", "127.0.0.１", Policy{}, false},
		{"another name is listed", "evil.example", Policy{Allow: []string{"good.example"}}, false},
		{"address listed", "evil.example", Policy{Allow: []string{"127.0.0.1"}}, true},
		{"network listed", "127.0.0.1", Policy{Allow: []string{"127.0.0.0/8"}}, true},
		{"name listed", "evil.example", Policy{Allow: []string{"evil.example"}}, true},
		{"loopback allowed", "six.example", Policy{AllowLoopback: true}, true},
		{"the allowed one of several", "mixed.example", Policy{AllowLoopback: true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := server.connections.Load()
			client := NewClient(c.policy, Options{Resolver: &answers{hosts: lower(names)}})
			resp, err := get(t, client, server.at(c.host, "/?k=secret"))
			if c.reached {
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, resp.StatusCode)
				return
			}
			require.Error(t, err)
			require.Equal(t, before, server.connections.Load(), "connections to the forbidden server")
			require.NotContains(t, RedactError(err).Error(), "secret")
		})
	}
}

// lower also answers for names as the client writes them.
func lower(names map[string][][]string) map[string][][]string {
	names["EVIL.example."] = names["evil.example"]
	return names
}

func TestForbiddenAddressIsAForbiddenError(t *testing.T) {
	client := NewClient(Policy{}, Options{Resolver: &answers{hosts: map[string][][]string{"evil.example": {{"169.254.169.254"}}}}})
	_, err := get(t, client, "http://evil.example/")
	var forbidden *ForbiddenError
	require.ErrorAs(t, err, &forbidden)
	require.Equal(t, &ForbiddenError{Host: "evil.example", Addr: netip.MustParseAddr("169.254.169.254"), Reason: "a link-local address"}, forbidden)
}

// The name is resolved once for a connection: what was checked is what is dialled.
func TestAddressIsPinned(t *testing.T) {
	good := newTarget(t, "127.0.0.1:0", hello)
	_, port, err := net.SplitHostPort(good.Listener.Addr().String())
	require.NoError(t, err)
	bad := newTarget(t, "127.0.0.2:"+port, hello)
	resolver := &answers{hosts: map[string][][]string{"rebind.example": {{"127.0.0.1"}, {"127.0.0.2"}}}}
	client := NewClient(Policy{Allow: []string{"127.0.0.1"}}, Options{Resolver: resolver})
	client.Transport.(*guard).next.DisableKeepAlives = true

	_, err = get(t, client, good.at("rebind.example", "/"))
	require.NoError(t, err)
	require.EqualValues(t, 1, resolver.asked.Load())
	_, err = get(t, client, good.at("rebind.example", "/"))
	var forbidden *ForbiddenError
	require.ErrorAs(t, err, &forbidden)
	require.EqualValues(t, 1, good.connections.Load())
	require.Zero(t, bad.connections.Load())
}

func TestRedirects(t *testing.T) {
	forbidden := newTarget(t, "127.0.0.2:0", hello)
	var start *target
	start = newTarget(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		var to string
		switch r.URL.Path {
		case "/literal":
			to = forbidden.URL + "/?k=secret"
		case "/name":
			to = forbidden.at("evil.example", "/?k=secret")
		case "/file":
			to = "file:///etc/passwd"
		case "/numeric":
			to = forbidden.at("2130706434", "/")
		case "/broken":
			to = "http://u:secret#@x:y/"
		case "/end":
			hello(w, r)
			return
		default:
			var left int
			if _, err := fmt.Sscanf(r.URL.Path, "/hops/%d", &left); err != nil {
				http.NotFound(w, r)
				return
			}
			if to = fmt.Sprintf("%s/hops/%d", start.URL, left-1); left == 1 {
				to = start.URL + "/end"
			}
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	})
	resolver := &answers{hosts: map[string][][]string{"evil.example": {{"127.0.0.2"}}}}
	client := NewClient(Policy{Allow: []string{"127.0.0.1"}}, Options{Resolver: resolver})

	for _, path := range []string{"/literal", "/name", "/numeric"} {
		_, err := get(t, client, start.URL+path)
		var refused *ForbiddenError
		require.ErrorAs(t, err, &refused, path)
		require.NotContains(t, RedactError(err).Error(), "secret")
	}
	_, err := get(t, client, start.URL+"/file")
	var invalid *InvalidURLError
	require.ErrorAs(t, err, &invalid)
	require.Zero(t, forbidden.connections.Load())

	resp, err := get(t, client, start.URL+"/broken")
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, resp.StatusCode)
	resp, err = get(t, client, start.URL+"/hops/5")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	_, err = get(t, client, start.URL+"/hops/6")
	require.ErrorContains(t, err, "stopped after 5 redirects")
}

func TestRedirectToPlainHTTPIsRefused(t *testing.T) {
	from := &http.Request{URL: &url.URL{Scheme: "https", Host: "a.example"}}
	to := &http.Request{URL: &url.URL{Scheme: "http", Host: "a.example"}}
	require.ErrorContains(t, checkRedirect(to, []*http.Request{from}), "from https to http is refused")
	require.NoError(t, checkRedirect(from, []*http.Request{to}))
}

func TestProxyIsUsedOnlyWhenAsked(t *testing.T) {
	plain := NewClient(Policy{}, Options{}).Transport.(*guard).next
	require.Nil(t, plain.Proxy)
	asked := NewClient(Policy{}, Options{ProxyFromEnvironment: true}).Transport.(*guard).next
	require.NotNil(t, asked.Proxy)
}

// closing is a request body that says whether it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestBodyOfARefusedRequestIsClosed(t *testing.T) {
	body := &closing{Reader: strings.NewReader("x")}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", body)
	require.NoError(t, err)
	_, err = NewClient(Policy{}, Options{}).Do(req)
	require.Error(t, err)
	require.True(t, body.closed)
}
