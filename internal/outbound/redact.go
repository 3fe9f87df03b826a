package outbound

import (
	"net/url"
	"strings"
)

// Redact makes a URL fit for logs and errors: it has no user info and no
// fragment, and in place of each query value it has "…". A URL that cannot be
// parsed is "(invalid)".
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(invalid)"
	}
	if u.Opaque != "" {
		return u.Scheme + ":…"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if u.RawQuery == "" {
		return shown.String()
	}
	return shown.String() + "?" + redactQuery(u.RawQuery)
}

// redactQuery keeps the names of a query. A part without a name may be a token.
func redactQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, named := strings.Cut(part, "=")
		if parts[i] = "…"; named {
			parts[i] = name + "=…"
		}
	}
	return strings.Join(parts, "&")
}
