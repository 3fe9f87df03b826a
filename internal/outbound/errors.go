package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
)

// ErrTooLarge is what ReadLimited reports of a body beyond its limit.
var ErrTooLarge = errors.New("the response is too large")

// disguised is the reason against 0x7f000001, which no setting allows.
const disguised = "an address in an unusual form"

// ForbiddenError says that the policy does not let a request go where it wants.
// Addr is the zero Addr where the host itself, not an address of it, is refused.
type ForbiddenError struct {
	Host   string
	Addr   netip.Addr
	Reason string // such as "a loopback address"
}

// Error says what was refused and how to allow it.
func (e *ForbiddenError) Error() string {
	subject := e.Host
	if e.Addr.IsValid() && e.Addr.String() != e.Host {
		subject = fmt.Sprintf("%s (%s)", e.Host, e.Addr)
	}
	remedy := "--allow-http-targets can list it"
	if e.Reason == disguised {
		remedy = "write four decimal numbers"
	}
	return fmt.Sprintf("request to %s is refused: it is %s; %s", subject, e.Reason, remedy)
}

// InvalidURLError says what is wrong with a URL, without repeating parts of it
// that may be secret.
type InvalidURLError struct {
	URL    string // redacted
	Reason string
}

// Error says what is wrong.
func (e *InvalidURLError) Error() string {
	return fmt.Sprintf("URL %s %s", e.URL, e.Reason)
}

// RedactError takes user info and query values out of an error of http.Client,
// which quotes the URL of the request. Other errors are returned as they are.
func RedactError(err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return err
	}
	return &url.Error{Op: failed.Op, URL: Redact(failed.URL), Err: failed.Err}
}
