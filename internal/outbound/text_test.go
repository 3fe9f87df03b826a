package outbound

import (
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.com":                            "https://example.com",
		"https://u:p@example.com:8443/a%2Fb?x=1&token=s": "https://example.com:8443/a%2Fb?x=…&token=…",
		"https://example.com/?token":                     "https://example.com/?…",
		"https://example.com/#secret":                    "https://example.com/",
		"mailto:someone@example.com":                     "mailto:…",
		"http://u:p#x@host/":                             "(invalid)",
		"":                                               "",
	} {
		require.Equal(t, want, Redact(raw), raw)
	}
}

func TestRedactError(t *testing.T) {
	cause := errors.New("connection refused")
	err := RedactError(&url.Error{Op: "Get", URL: "http://u:p@example.com/?k=secret", Err: cause})
	require.EqualError(t, err, `Get "http://example.com/?k=…": connection refused`)
	require.ErrorIs(t, err, cause)
	require.Equal(t, cause, RedactError(cause))
	require.NoError(t, RedactError(nil))
}

func FuzzRedact(f *testing.F) {
	for _, seed := range []string{"http://u:SECRET@h/p?SECRET=SECRET", "http://h/?SECRET", "http://h?a=SECRET;b=SECRET", "//SECRET@h", "x:SECRET"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		shown := Redact(raw)
		u, err := url.Parse(raw)
		if err != nil {
			require.Equal(t, "(invalid)", shown)
			return
		}
		again, err := url.Parse(shown)
		if err == nil {
			require.Nil(t, again.User)
			require.Equal(t, u.Hostname(), again.Hostname())
		}
	})
}

func TestReadLimited(t *testing.T) {
	for _, c := range []struct {
		body string
		max  int64
		want string
		err  error
	}{
		{"", 0, "", nil}, {"", 5, "", nil}, {"abc", 5, "abc", nil}, {"abcde", 5, "abcde", nil},
		{"abcdef", 5, "abcde", ErrTooLarge}, {"a", 0, "", ErrTooLarge},
	} {
		got, err := ReadLimited(strings.NewReader(c.body), c.max)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.want, string(got))
	}
	broken := errors.New("connection reset")
	_, err := ReadLimited(iotest.ErrReader(broken), 5)
	require.ErrorIs(t, err, broken)
	_, err = ReadLimited(io.MultiReader(strings.NewReader("abcde"), iotest.ErrReader(broken)), 5)
	require.ErrorIs(t, err, broken)
}
