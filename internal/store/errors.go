package store

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Transient reports whether the same call may succeed later as it is: the database was away or going away, too
// busy, or two transactions got in each other's way.
func Transient(err error) bool {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		switch {
		case strings.HasPrefix(pgErr.Code, "08"), // connection
			strings.HasPrefix(pgErr.Code, "53"), // resources
			strings.HasPrefix(pgErr.Code, "57"), // operator intervention
			strings.HasPrefix(pgErr.Code, "58"), // system
			pgErr.Code == "40001", pgErr.Code == "40P01", pgErr.Code == "25P03", pgErr.Code == "55P03", pgErr.Code == "25006":
			return true
		}
		return false
	}
	var connectErr *pgconn.ConnectError
	var netErr net.Error
	return errors.As(err, &connectErr) || errors.As(err, &netErr) || errors.Is(err, context.DeadlineExceeded) ||
		pgconn.SafeToRetry(err) || isClosed(err)
}

// isClosed recognises a connection that ended in mid-call.
func isClosed(err error) bool {
	if errors.Is(err, net.ErrClosed) {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "conn closed") || strings.Contains(text, "unexpected EOF") || strings.Contains(text, "connection reset") ||
		strings.Contains(text, "broken pipe")
}

// Reason is a database error in one sentence without the statement or its data.
func Reason(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Message
	}
	return "the database could not store it"
}
