package engine

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const (
	masked = "***"
	// minMasked is the shortest value that is looked for in texts, minSecret in outputs: shorter ones are in any text by chance.
	minMasked = 4
	minSecret = 6
)

var secretName = regexp.MustCompile(`(?i)auth|cookie|token|secret|key|passw|credential|session|signature`)

// harmless are headers whose values are in everybody's answers.
var harmless = []string{"accept", "content-type", "user-agent", "host", "idempotency-key"}

// mask hides what a request carries wherever else it turns up: servers echo requests, above all in their errors.
type mask struct {
	// secrets are the values that are credentials by their place or name.
	secrets []string
	values  []string
	hide    *strings.Replacer
}

func newMask(u *url.URL, headers map[string]text) *mask {
	m := &mask{}
	for name, value := range headers {
		if !slices.Contains(harmless, strings.ToLower(name)) {
			m.header(name, string(value))
		}
	}
	if u != nil {
		m.userinfo(u.User)
		m.query(u.RawQuery)
	}
	byLength := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	slices.SortFunc(m.secrets, byLength)
	slices.SortFunc(m.values, byLength)
	var pairs []string
	for _, v := range slices.Compact(m.values) {
		pairs = append(pairs, v, masked)
	}
	m.hide = strings.NewReplacer(pairs...)
	return m
}

// header adds a header's value, and of a credential also the parts that may be quoted alone.
func (m *mask) header(name, value string) {
	secret := secretName.MatchString(name)
	m.add(value, secret)
	if !secret {
		return
	}
	scheme, credential, found := strings.Cut(value, " ")
	if !found || strings.ContainsAny(scheme, "=,;") {
		credential = value
	}
	for _, part := range strings.FieldsFunc(credential, func(r rune) bool { return strings.ContainsRune(" ,;", r) }) {
		m.add(part, true)
		if _, assigned, found := strings.Cut(part, "="); found {
			m.add(strings.Trim(assigned, `"`), true)
		}
	}
}

func (m *mask) userinfo(user *url.Userinfo) {
	if user == nil {
		return
	}
	password, _ := user.Password()
	m.add(user.Username(), password == "")
	m.add(password, true)
	m.add(base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)), true)
	m.add(user.String(), true)
}

// query adds the values of a query; a part without a name may be a token.
func (m *mask) query(raw string) {
	for part := range strings.SplitSeq(raw, "&") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			value = name
		}
		secret := !named || secretName.MatchString(name)
		m.add(value, secret)
		if plain, err := url.QueryUnescape(value); err == nil {
			m.add(plain, secret)
		}
	}
}

// add takes in a value as it is and as JSON and URLs write it.
func (m *mask) add(value string, secret bool) {
	value = strings.TrimSpace(value)
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	if quoted, err := encodeJSON(value); err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	if quoted, err := json.Marshal(value); err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	if len(value) >= minMasked {
		m.values = append(m.values, forms...)
	}
	if secret && len(value) >= minSecret {
		m.secrets = append(m.secrets, forms...)
	}
}

// text hides all values of the request in a text for people.
func (m *mask) text(s string) string { return m.hide.Replace(s) }

// output hides the credentials of the request in a JSON value, and tells whether there were any. What would not be JSON
// any more, such as a number with some digits hidden, stays.
func (m *mask) output(raw json.RawMessage) (hidden json.RawMessage, found bool) {
	for _, s := range slices.Compact(slices.Clone(m.secrets)) {
		if !bytes.Contains(raw, []byte(s)) {
			continue
		}
		if without := bytes.ReplaceAll(raw, []byte(s), []byte(masked)); json.Valid(without) {
			raw, found = without, true
		}
	}
	return raw, found
}
