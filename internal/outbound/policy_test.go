package outbound

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckURLRefuses(t *testing.T) {
	for raw, reason := range map[string]string{
		"http://127.0.0.1/":                     "a loopback address",
		"http://127.255.1.2:8080/x":             "a loopback address",
		"http://[::1]/":                         "a loopback address",
		"http://[::ffff:127.0.0.1]/":            "a loopback address",
		"http://[::ffff:7f00:1]/":               "a loopback address",
		"http://localhost/":                     "this machine",
		"http://LOCALHOST.:80/":                 "this machine",
		"http://api.localhost/":                 "this machine",
		"http://0.0.0.0/":                       "an unspecified address",
		"http://[::]/":                          "an unspecified address",
		"http://10.1.2.3/":                      "a private address",
		"http://172.31.255.255/":                "a private address",
		"http://192.168.0.1/":                   "a private address",
		"http://[fd00::1]/":                     "a private address",
		"http://[::ffff:10.0.0.1]/":             "a private address",
		"http://100.64.0.1/":                    "a carrier-grade NAT address",
		"http://169.254.169.254/latest":         "a link-local address",
		"http://[fe80::1%25eth0]/":              "a link-local address",
		"http://[fec0::1]/":                     "a site-local address",
		"http://224.0.0.1/":                     "a multicast address",
		"http://[ff02::1]/":                     "a multicast address",
		"http://255.255.255.255/":               "a reserved address",
		"http://[4000::1]/":                     "a reserved address",
		"http://[64:ff9b::7f00:1]/":             "a NAT64 address",
		"http://[2002:7f00:1::]/":               "a 6to4 address",
		"http://[2001:0:1::1]/":                 "a Teredo address",
		"http://[::127.0.0.1]/":                 "an address with IPv4 inside",
		"http://[::ffff:0:127.0.0.1]/":          "a reserved address",
		"http://[2001:db8::1]/":                 "an address for documentation",
		"http://198.18.0.1/":                    "an address for benchmarks",
		"http://2130706433/":                    disguised,
		"http://0x7f000001/":                    disguised,
		"http://0X7F000001/":                    disguised,
		"http://017700000001/":                  disguised,
		"http://0177.0.0.1/":                    disguised,
		"http://127.1/":                         disguised,
		"http://127.0.0.1./":                    disguised,
		"http://0x7f.0.0.0x1/":                  disguised,
		"http://user:secret@127.0.0.1/?k=value": "a loopback address",
	} {
		t.Run(raw, func(t *testing.T) {
			err := Policy{}.CheckURL(raw)
			var forbidden *ForbiddenError
			require.ErrorAs(t, err, &forbidden)
			require.Equal(t, reason, forbidden.Reason)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "value")
			if reason != disguised {
				require.ErrorContains(t, err, "--allow-http-targets")
			}
		})
	}
}

func TestCheckURLFindsNoURL(t *testing.T) {
	for raw, want := range map[string]string{
		"file:///etc/passwd":              "URL file:///etc/passwd must begin with http:// or https://",
		"gopher://example.com/":           "must begin with http:// or https://",
		"ftp://u:secret@example.com/":     "URL ftp://example.com/ must begin with",
		"//example.com/":                  "must begin with http:// or https://",
		"example.com":                     "must begin with http:// or https://",
		"javascript:secret":               "URL javascript:… must begin with",
		"":                                "must begin with http:// or https://",
		"http://":                         "has no host",
		"http://:80/":                     "has no host",
		"http://u:secret#x@example.com/":  "URL (invalid) cannot be parsed",
		"http://exa mple.com/?k=secret":   "URL (invalid) cannot be parsed",
		"http://example.com:port/?secret": "URL (invalid) cannot be parsed",
	} {
		t.Run(raw, func(t *testing.T) {
			err := Policy{}.CheckURL(raw)
			var invalid *InvalidURLError
			require.ErrorAs(t, err, &invalid)
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestCheckURLAllows(t *testing.T) {
	for _, raw := range []string{
		"https://example.com/hook?x=1", "http://example.com:8080", "HTTPS://EXAMPLE.COM/", "http://8.8.8.8/",
		"http://[2606:4700::1111]/", "http://[::ffff:8.8.8.8]/", "https://user:pass@example.com/", "http://例子.测试/",
		"http://172.32.0.1/", "http://100.128.0.1/", "http://erp.internal/", "http://1.example.com/", "http://0x7f.example.com/",
	} {
		require.NoError(t, Policy{}.CheckURL(raw), raw)
	}
}

func TestPolicyAllows(t *testing.T) {
	p, err := ParsePolicy([]string{"10.1.0.0/16", " 192.168.7.7 ", "fd00:1::/32", "ERP.internal.", "localhost", "64:ff9b::/96"})
	require.NoError(t, err)
	for _, raw := range []string{
		"http://10.1.2.3/", "http://[::ffff:10.1.2.3]/", "http://192.168.7.7/", "http://[fd00:1::5]/",
		"http://erp.internal/", "http://localhost:9/", "http://[64:ff9b::808:808]/",
	} {
		require.NoError(t, p.CheckURL(raw), raw)
	}
	for _, raw := range []string{"http://10.2.0.1/", "http://192.168.7.8/", "http://127.0.0.1/", "http://x.localhost/", "http://[fd00:2::5]/"} {
		require.Error(t, p.CheckURL(raw), raw)
	}
	dev := Policy{AllowLoopback: true}
	for _, raw := range []string{"http://127.0.0.1:8080/", "http://localhost/", "http://[::1]/"} {
		require.NoError(t, dev.CheckURL(raw), raw)
	}
	for _, raw := range []string{"http://10.0.0.1/", "http://127.1/", "http://169.254.169.254/"} {
		require.Error(t, dev.CheckURL(raw), raw)
	}
}

func TestParsePolicyReportsAllProblems(t *testing.T) {
	_, err := ParsePolicy([]string{"10.0.0.0/33", "http://erp/", "erp:80", "*", "", "0x7f000001", "127.1", "::ffff:10.0.0.0/104", "10.0.0.0/8"})
	require.Error(t, err)
	for _, entry := range []string{`"10.0.0.0/33"`, `"http://erp/"`, `"erp:80"`, `"*"`, `""`, `"0x7f000001"`, `"127.1"`, `"::ffff:10.0.0.0/104"`} {
		require.ErrorContains(t, err, entry)
	}
	require.NotContains(t, err.Error(), `"10.0.0.0/8"`)
}

func TestPolicyWithAWrongEntryAllowsTheOthers(t *testing.T) {
	p := Policy{Allow: []string{"nonsense/99", "10.0.0.1"}}
	require.NoError(t, p.CheckURL("http://10.0.0.1/"))
	require.Error(t, p.CheckURL("http://10.0.0.2/"))
}

func TestForbiddenErrorText(t *testing.T) {
	err := &ForbiddenError{Host: "erp.example", Addr: netip.MustParseAddr("10.0.0.1"), Reason: "a private address"}
	require.EqualError(t, err, "request to erp.example (10.0.0.1) is refused: it is a private address; --allow-http-targets can list it")
	err = &ForbiddenError{Host: "127.1", Reason: disguised}
	require.EqualError(t, err, "request to 127.1 is refused: it is an address in an unusual form; write four decimal numbers")
}
