// Package outbound makes HTTP requests to places that authors of workflows name,
// without becoming their way into the server's own network.
//
// A request reaches a public address or one that --allow-http-targets lists, and
// nothing else (contract §3). Names are resolved once, every address is checked,
// and exactly a checked address is dialled, so an answer of the DNS that changes
// in between changes nothing. Redirects are requests like any other. Errors tell
// the host and the setting that would allow it, never user info or query values.
package outbound
