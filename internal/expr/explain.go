package expr

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
)

var (
	unknownName = regexp.MustCompile(`^undeclared reference to '([^']*)'(?: \(did you mean '([^']*)'\?\))?$`)
	noOverload  = regexp.MustCompile(`^found no matching overload for '([^']*)' applied to '(.*)'$`)
	unexpected  = regexp.MustCompile(`^Syntax error: (?:mismatched|extraneous) input '(.*)' expecting .*$`)
)

// explain turns CEL's complaints into ours.
func (c *compiler) explain(issues *cel.Issues, at place) []*Error {
	var problems []*Error
	for _, issue := range issues.Errors() {
		line, column := 1, 0
		if issue.Location != nil {
			line, column = issue.Location.Line(), max(issue.Location.Column(), 0)
		}
		problems = append(problems, at.locate(line, column, c.reword(issue.Message)))
	}
	return problems
}

// hyphens finds nodes.load-all, which CEL reads as a subtraction.
func (c *compiler) hyphens(src string, at place) []*Error {
	for _, node := range c.scope.Nodes {
		i := strings.Index(src, rootNodes+"."+node)
		if i >= 0 && !plainName.MatchString(node) {
			at.offset += i
			return []*Error{at.locate(1, 0, fmt.Sprintf("the name of this node needs quotes: %s", outputOf(node)))}
		}
	}
	return nil
}

// reword says in our words the complaints that people meet most.
func (c *compiler) reword(msg string) string {
	if m := unknownName.FindStringSubmatch(msg); m != nil {
		return c.unknownName(m[1], m[2])
	}
	if m := noOverload.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("%s cannot be applied to %s", written(m[1]), m[2])
	}
	if m := unexpected.FindStringSubmatch(msg); m != nil {
		if m[1] == "<EOF>" {
			return "the expression ends too early"
		}
		return fmt.Sprintf("unexpected %q", m[1])
	}
	return strings.TrimPrefix(msg, "Syntax error: ")
}

// written is how an author writes what CEL calls by an inner name, such as _>_.
func written(function string) string {
	if function == operators.Index {
		return "[ ]"
	}
	if symbol, ok := operators.FindReverse(function); ok && symbol != "" {
		return symbol
	}
	return function
}

// unknownName says where a bare word is to be found, if it is a parameter or a
// node, and else what it resembles; resembles is what CEL thinks.
func (c *compiler) unknownName(name, resembles string) string {
	msg := fmt.Sprintf("unknown name %q", name)
	if _, ok := c.scope.Params[name]; ok {
		return fmt.Sprintf("%s; did you mean params.%s?", msg, name)
	}
	if slices.Contains(c.scope.Nodes, name) {
		return fmt.Sprintf("%s; did you mean %s?", msg, outputOf(name))
	}
	if resembles != "" {
		return fmt.Sprintf("%s; did you mean %q?", msg, resembles)
	}
	return msg + suggest(name, c.scope.variables())
}
