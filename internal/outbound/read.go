package outbound

import (
	"fmt"
	"io"
)

// ReadLimited reads all of a body of at most limit bytes. Of a larger one it gives
// the first limit bytes and an error that wraps ErrTooLarge. It does not close r.
func ReadLimited(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return body, fmt.Errorf("read response: %w", err)
	}
	if int64(len(body)) < limit {
		return body, nil
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return body, fmt.Errorf("%w: at most %d bytes are read", ErrTooLarge, limit)
	case err == io.EOF:
		return body, nil
	default:
		return body, fmt.Errorf("read response: %w", err)
	}
}
