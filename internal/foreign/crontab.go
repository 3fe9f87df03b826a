package foreign

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ax-run/ax/dag"
)

// crontab is a crontab that is being read: what its lines so far have set counts for those below.
type crontab struct {
	*maker
	env     map[string]string
	comment string
	// unzoned is set once a job has no zone.
	unzoned bool
}

var (
	cronSetting = regexp.MustCompile(`^\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*(.*?)\s*$`)
	cronMacro   = regexp.MustCompile(`^(@\S+)\s+(.*)$`)
	cronFields  = regexp.MustCompile(`^((?:\S+\s+){4}\S+)\s+(.*)$`)
	cronUser    = regexp.MustCompile(`^(\S+)\s+(.*)$`)
)

// ReadCrontab reads a crontab as crontab(5) describes it, with the zones of cronie (CRON_TZ).
func ReadCrontab(data []byte, opt Options) (Result, error) {
	c := &crontab{maker: newMaker(opt), env: make(map[string]string)}
	for i, line := range strings.Split(string(data), "\n") {
		if err := c.line(fmt.Sprintf("line %d", i+1), strings.TrimRight(line, "\r")); err != nil {
			return Result{}, err
		}
	}
	if len(c.result.Workflows) > 0 {
		c.note("every job", "cron starts a job though its last run goes on; in ax the next run waits for it: where they may overlap, raise concurrency.max_runs")
	}
	if c.unzoned {
		c.note("every job", "its times are those of the machine that cron runs on: name its zone with --timezone, else they are read in the server's default zone")
	}
	if to := c.env["MAILTO"]; to != "" {
		c.note("MAILTO", "cron mails what jobs print to %s; ax keeps it in the log of each attempt: see alerts for being told", to)
	}
	return c.result, nil
}

func (c *crontab) line(where, line string) error {
	text := strings.TrimSpace(line)
	switch {
	case text == "":
		c.comment = ""
		return nil
	case strings.HasPrefix(text, "#"):
		c.comment = strings.TrimSpace(strings.TrimLeft(text, "#"))
		return nil
	}
	if set := cronSetting.FindStringSubmatch(text); set != nil && !cronFields.MatchString(text) || set != nil && strings.Contains(set[1]+set[2]+set[3], "_TZ") {
		c.env[set[1]+set[2]+set[3]] = unquote(set[4])
		return nil
	}
	return c.job(where, text)
}

// unquote takes matching quotes off a value, as cron does.
func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

func (c *crontab) job(where, text string) error {
	parts := cronMacro.FindStringSubmatch(text)
	if parts == nil {
		parts = cronFields.FindStringSubmatch(text)
	}
	if parts == nil {
		c.note(where, "this is neither a setting nor a job, and was left out: %.80q", text)
		return nil
	}
	when, command := strings.Join(strings.Fields(strings.TrimPrefix(parts[1], "-")), " "), parts[2]
	user := ""
	if c.System {
		column := cronUser.FindStringSubmatch(command)
		if column == nil {
			c.note(where, "there is no command after the user, and the line was left out")
			return nil
		}
		user, command = column[1], column[2]
	}
	if strings.EqualFold(when, "@reboot") {
		c.note(where, "@reboot has no counterpart, and the job was left out: start it with the machine, as a service: %.80q", command)
		return nil
	}
	d := c.add(where, programOf(command))
	d.def().Title = c.comment
	c.comment = ""
	c.unzoned = c.unzoned || c.zone() == ""
	d.schedule("", dag.Schedule{Cron: when, Timezone: c.zone(), Late: dag.Late{Catchup: dag.CatchupNone}})
	if user != "" {
		d.note("cron runs it as user %s; ax runs it as the user of the worker", user)
	}
	if c.env["RANDOM_DELAY"] != "" {
		d.note("RANDOM_DELAY=%s (minutes): say it as the schedule's jitter", c.env["RANDOM_DELAY"])
	}
	d.node(programOf(command), c.node(command))
	return c.done(d)
}

// zone is the zone that lines from here on are in.
func (c *crontab) zone() string {
	if zone := c.env["CRON_TZ"]; zone != "" {
		return zone
	}
	return c.Timezone
}

// node runs the line's command by the shell, as cron does. What follows the first % is its input.
func (c *crontab) node(line string) *dag.Node {
	shell := "/bin/sh"
	env := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		switch name {
		case "SHELL":
			shell = c.env[name]
		case "MAILTO", "MAILFROM", "CRON_TZ", "RANDOM_DELAY", "LOGNAME", "USER":
		default:
			env[name] = literal(c.env[name])
		}
	}
	command, input := splitPercent(line)
	if input != nil {
		command += " <<'AX_STDIN'\n" + strings.TrimSuffix(*input, "\n") + "\nAX_STDIN"
	}
	// cron starts every job in its user's home.
	n := &dag.Node{Work: dag.Work{Command: &dag.Command{Run: []string{shell, "-c", "cd || exit\n" + literal(command)}, Env: env}}}
	n.Timeout, n.Retry = longest, attempts(1)
	return n
}

// splitPercent reads a command as cron does: an unescaped % is a line break, and all after the first is input; nil where there is none.
func splitPercent(line string) (command string, input *string) {
	var parts [2]strings.Builder
	at := 0
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '%':
			i++
			parts[at].WriteByte('%')
		case line[i] == '%' && at == 0:
			at = 1
		case line[i] == '%':
			parts[at].WriteByte('\n')
		default:
			parts[at].WriteByte(line[i])
		}
	}
	if at == 1 {
		input = new(parts[1].String())
	}
	return parts[0].String(), input
}

// starters are programs that only start another, and how many words of their own they take.
var starters = map[string]int{
	"cd": 1, "nice": 0, "ionice": 0, "flock": 1, "timeout": 1, "env": 0, "sudo": 0, "nohup": 0, "sh": 0, "bash": 0, "test": 1, "[": 1, "exec": 0,
	"time": 0, "chronic": 0, "setsid": 0, "python": 0, "python3": 0, "php": 0, "perl": 0, "node": 0, "ruby": 0,
}

// programOf names a job after its program: the first word that is neither a setting nor a mere starter of others.
func programOf(command string) string {
	skip := 0
	for _, word := range strings.Fields(command) {
		word = strings.Trim(word, `"'();&|`)
		base := path.Base(word)
		own, starter := starters[base]
		switch {
		case word == "" || strings.HasPrefix(word, "-") || strings.ContainsRune(word, '='):
		case skip > 0:
			skip--
		case starter:
			skip = own
		default:
			return strings.TrimSuffix(base, path.Ext(base))
		}
	}
	return "job"
}
