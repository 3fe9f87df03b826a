package dag

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ax-run/ax/internal/expr"
)

var (
	methodPattern = regexp.MustCompile(`^[A-Z]{1,20}$`)
	headerPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	envPattern    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

// work checks the one kind that a node has.
func (c *checker) work(at *place, n *Node) {
	switch {
	case n.Handler != "":
		c.handler(at.key("handler"), n.Handler)
	case n.HTTP != nil:
		c.http(at.key("http"), n.HTTP)
	case n.Command != nil:
		c.command(at.key("command"), n.Command)
	case n.Child != nil:
		c.child(at.key("workflow"), n.Child)
	case n.Approval != nil:
		for i, role := range n.Approval.Roles {
			c.choice(at.under("approval", "roles").at(i), role, "Approval.roles")
		}
	case n.Wait != nil:
		c.exactlyOne(at.key("wait"), "wait", map[string]bool{"for": n.Wait.For != 0, "until": n.Wait.Until != ""})
		c.duration(at.under("wait", "for"), n.Wait.For, minTimeout)
	case n.Branch != nil:
		c.branch(at.key("branch"), n.Branch)
	}
}

func (c *checker) handler(at *place, name string) {
	if ValidName(name) && len(name) > maxHandler {
		c.add(at, CodeInvalidName, "the name of a handler has at most %d characters", maxHandler).value(name)
		return
	}
	c.name(at, "a handler", name)
}

func (c *checker) http(at *place, h *HTTP) {
	c.url(at.key("url"), h.URL)
	if h.Method != "" && !methodPattern.MatchString(h.Method) {
		c.add(at.key("method"), CodeInvalidChoice, "%q is not an HTTP method", clip(h.Method)).hint("write it in capitals, such as POST").value(h.Method)
	}
	c.choice(at.key("protocol"), h.Protocol, "HTTP.protocol")
	if h.Protocol == "ax" {
		c.dispatch(at, h)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		here := at.key("headers").key(name)
		switch {
		case !headerPattern.MatchString(name):
			c.add(here, CodeInvalidName, "%q cannot be the name of a header", clip(name))
		case strings.ContainsAny(h.Headers[name], "\r\n"):
			c.add(here, CodeInvalidText, "the value of a header is one line")
		}
	}
}

// dispatch refuses what the worker protocol says itself: it is a POST with a body of its own.
func (c *checker) dispatch(at *place, h *HTTP) {
	if h.Method != "" && h.Method != "POST" {
		c.add(at.key("method"), CodeConflict, "a call by the protocol ax is a POST").hint("leave method out, or write protocol: plain")
	}
	if h.Body != nil {
		c.add(at.key("body"), CodeConflict, "a call by the protocol ax has a body of its own").hint("write the values in inputs, or protocol: plain")
	}
}

// url checks what can be known before expressions are evaluated.
func (c *checker) url(at *place, raw string) {
	if raw == "" {
		c.add(at, CodeMissing, "http has no url")
		return
	}
	if expr.HasTemplate(raw) {
		return
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		c.add(at, CodeInvalidURL, "%q is not a URL that can be called", clip(raw)).hint("write it in full, as in https://erp.example/clean").value(raw)
	}
}

func (c *checker) command(at *place, cmd *Command) {
	switch {
	case len(cmd.Run) == 0:
		c.add(at.key("run"), CodeMissing, "command names no program to run").hint(`write [./program, "an argument"]`)
	case cmd.Run[0] == "":
		c.add(at.key("run").at(0), CodeMissing, "the program to run is empty")
	}
	for _, name := range slices.Sorted(maps.Keys(cmd.Env)) {
		here := at.key("env").key(name)
		switch {
		case !envPattern.MatchString(name):
			c.add(here, CodeInvalidName, "%q cannot be the name of an environment variable", clip(name))
		case strings.HasPrefix(name, "AX_"):
			c.add(here, CodeInvalidName, "names that begin with AX_ are set by ax itself").value(name)
		}
	}
	for i, code := range cmd.PermanentExitCodes {
		if code < 1 || code > 255 {
			c.add(at.key("permanent_exit_codes").at(i), CodeOutOfRange, "%d is not between 1 and 255", code).value(code)
		}
	}
}

func (c *checker) child(at *place, child *Child) {
	c.name(at.key("code"), "a workflow", child.Code)
	c.nameIfSaid(at.key("namespace"), "a namespace", child.Namespace)
	c.number(at.key("version"), child.Version, 1, 1<<30)
	if child.Code == c.def.Workflow && child.Namespace == "" {
		c.add(at.key("code"), CodeCycle, "the workflow starts itself: %s → %s", clip(child.Code), clip(child.Code))
	}
}

func (c *checker) branch(at *place, b *Branch) {
	if len(b.Cases) == 0 {
		c.add(at.key("cases"), CodeMissing, "a branch has no cases")
	}
	for i, arm := range b.Cases {
		here := at.key("cases").at(i)
		if arm.When == "" {
			c.add(here.key("when"), CodeMissing, "a case has no condition")
		}
		if len(arm.To) == 0 {
			c.add(here.key("to"), CodeMissing, "a case leads nowhere").hint("name the nodes it takes: to: [a]")
		}
	}
}
