package api

import "context"

// actor is who a request's changes are told of (S3). Nobody signs in yet: the server listens on loopback only.
func actor(context.Context) string { return "user:local" }
