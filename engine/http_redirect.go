package engine

import (
	"net/http"
	"slices"
)

// carried are the headers that a redirect to another host takes along: all others may be secrets of the first,
// its query in Referer too.
var carried = []string{"Accept", "Content-Type", "Idempotency-Key", "User-Agent"}

// truthful is a client that follows only redirects that ask for the same work elsewhere. One that turns a POST into a GET
// would have a page's 200, such as a login form's, pass for the work's.
func truthful(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if req.Method != first.Method {
			return http.ErrUseLastResponse
		}
		if req.URL.Host != first.URL.Host {
			for name := range req.Header {
				if !slices.Contains(carried, http.CanonicalHeaderKey(name)) {
					delete(req.Header, name)
				}
			}
		}
		if client.CheckRedirect != nil {
			return client.CheckRedirect(req, via)
		}
		return nil
	}
	return &own
}
