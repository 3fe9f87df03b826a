package foreign

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
)

// quartzFile is Quartz's job_scheduling_data, version 1.8 or 2.0.
type quartzFile struct {
	Schedules []struct {
		Jobs     []quartzJob `xml:"job"`
		Triggers []struct {
			Cron     *quartzTrigger `xml:"cron"`
			Simple   *quartzTrigger `xml:"simple"`
			Calendar *quartzTrigger `xml:"calendar-interval"`
		} `xml:"trigger"`
	} `xml:"schedule"`
}

type quartzJob struct {
	Name        string       `xml:"name"`
	Group       string       `xml:"group"`
	Description string       `xml:"description"`
	Class       string       `xml:"job-class"`
	Recover     bool         `xml:"recover"`
	Data        []quartzPair `xml:"job-data-map>entry"`
}

type quartzPair struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

type quartzTrigger struct {
	Name       string       `xml:"name"`
	Group      string       `xml:"group"`
	JobName    string       `xml:"job-name"`
	JobGroup   string       `xml:"job-group"`
	Start      string       `xml:"start-time"`
	End        string       `xml:"end-time"`
	Future     string       `xml:"start-time-seconds-in-future"`
	Calendar   string       `xml:"calendar-name"`
	Misfire    string       `xml:"misfire-instruction"`
	Data       []quartzPair `xml:"job-data-map>entry"`
	Expression string       `xml:"cron-expression"`
	Zone       string       `xml:"time-zone"`
	Count      string       `xml:"repeat-count"`
	Interval   string       `xml:"repeat-interval"`
	Unit       string       `xml:"repeat-interval-unit"`
	Priority   string       `xml:"priority"`
}

// defaultGroup is the group of jobs that name none.
const defaultGroup = "DEFAULT"

// ReadQuartz reads Quartz's job definitions as its XML plugin does.
func ReadQuartz(data []byte, opt Options) (Result, error) {
	var file quartzFile
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Entity = map[string]string{}
	if err := d.Decode(&file); err != nil {
		return Result{}, fmt.Errorf("read Quartz's XML: %w", err)
	}
	m := newMaker(opt)
	drafts := make(map[string]*draft)
	var order []*draft
	for _, s := range file.Schedules {
		for _, j := range s.Jobs {
			made := m.quartz(j)
			drafts[quartzKey(j.Group, j.Name)] = made
			order = append(order, made)
		}
	}
	if len(order) == 0 {
		return Result{}, errors.New("the file holds no <schedule> with a <job>: give the file that Quartz's XMLSchedulingDataProcessorPlugin reads")
	}
	for _, s := range file.Schedules {
		for _, t := range s.Triggers {
			for _, one := range []*quartzTrigger{t.Cron, t.Simple, t.Calendar} {
				if one != nil {
					m.attach(one, drafts)
				}
			}
		}
	}
	for _, made := range order {
		if err := m.done(made); err != nil {
			return Result{}, err
		}
	}
	return m.result, nil
}

func quartzKey(group, name string) string {
	if group = strings.TrimSpace(group); group == "" {
		group = defaultGroup
	}
	return group + "\x00" + strings.TrimSpace(name)
}

func (m *maker) quartz(j quartzJob) *draft {
	name := strings.TrimSpace(j.Name)
	full := name
	if g := strings.TrimSpace(j.Group); g != "" && g != defaultGroup {
		full = g + "." + name
	}
	d := m.add("job "+full, full)
	d.def().Title, d.def().Description = name, strings.TrimSpace(j.Description)
	// Quartz runs a job beside itself unless its class forbids it.
	d.note("if its class has @DisallowConcurrentExecution, nothing is to do; else raise concurrency.max_runs: Quartz lets runs overlap")
	n := &dag.Node{Work: dag.Work{Handler: nameOf(strings.TrimSpace(j.Class))}, Inputs: quartzInputs(j.Data)}
	n.Timeout, n.Retry = longest, attempts(1)
	if !j.Recover {
		n.Idempotent = new(false)
	}
	class := strings.TrimSpace(j.Class)
	d.node(class[strings.LastIndexByte(class, '.')+1:], n)
	d.note("write a handler %s in a worker; %s is its Java class", n.Handler, class)
	return d
}

func quartzInputs(pairs []quartzPair) map[string]any {
	if len(pairs) == 0 {
		return nil
	}
	inputs := make(map[string]any, len(pairs))
	for _, p := range pairs {
		inputs[p.Key] = literal(p.Value)
	}
	return inputs
}

// attach makes a trigger a schedule of its job.
func (m *maker) attach(t *quartzTrigger, drafts map[string]*draft) {
	where := "trigger " + strings.TrimSpace(t.Name)
	d := drafts[quartzKey(t.JobGroup, t.JobName)]
	if d == nil {
		m.note(where, "its job %s is not in the file; it was left out", t.JobName)
		return
	}
	note := func(format string, args ...any) {
		d.w.Notes = append(d.w.Notes, Note{where, fmt.Sprintf(format, args...)})
	}
	s := dag.Schedule{Timezone: m.Timezone, Late: t.late(note)}
	if zone := strings.TrimSpace(t.Zone); zone != "" {
		s.Timezone = zone
	}
	s.Start, s.End = t.instant(t.Start, s.Timezone, note), t.instant(t.End, s.Timezone, note)
	if t.Future != "" {
		note("it began %s s after the scheduler started; ax counts from its registration", strings.TrimSpace(t.Future))
	}
	if c := strings.TrimSpace(t.Calendar); c != "" {
		note("make a calendar %s with the dates that Quartz's excludes: `ax calendars put`, then name it in the schedule's calendars", c)
	}
	if len(t.Data) > 0 {
		note("its own job data was left out: give the workflow parameters for %s", t.Data[0].Key)
	}
	if t.fill(&s, note) {
		d.schedule(strings.TrimSpace(t.Name), s)
	}
}

// late is what the misfire instruction means here (S10).
func (t *quartzTrigger) late(note func(string, ...any)) dag.Late {
	switch strings.TrimSpace(t.Misfire) {
	case "", "MISFIRE_INSTRUCTION_SMART_POLICY", "MISFIRE_INSTRUCTION_FIRE_ONCE_NOW", "MISFIRE_INSTRUCTION_FIRE_NOW":
		return dag.Late{Catchup: dag.CatchupLatest}
	case "MISFIRE_INSTRUCTION_DO_NOTHING":
		return dag.Late{Catchup: dag.CatchupNone}
	case "MISFIRE_INSTRUCTION_IGNORE_MISFIRE_POLICY":
		return dag.Late{Catchup: dag.CatchupAll}
	}
	note("%s was read as: one run for all missed fires", strings.TrimSpace(t.Misfire))
	return dag.Late{Catchup: dag.CatchupLatest}
}

// instant reads a time as XML has it; one without offset is in the schedule's zone.
func (t *quartzTrigger) instant(text, zone string, note func(string, ...any)) *time.Time {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return &at
	}
	location, err := cron.LoadZone(zone)
	if zone == "" || err != nil {
		location = time.UTC
	}
	at, err := time.ParseInLocation("2006-01-02T15:04:05", text, location)
	if err != nil {
		note("the time %q cannot be read and was left out", text)
		return nil
	}
	return &at
}

var quartzUnits = map[string]time.Duration{
	"SECOND": time.Second, "MINUTE": time.Minute, "HOUR": time.Hour, "DAY": 24 * time.Hour, "WEEK": 7 * 24 * time.Hour, "": time.Millisecond,
}

// fill says when the schedule fires; false if that cannot be said.
func (t *quartzTrigger) fill(s *dag.Schedule, note func(string, ...any)) bool {
	if t.Expression != "" {
		s.Cron, s.Dialect, s.DST = strings.Join(strings.Fields(t.Expression), " "), "quartz", dag.DSTQuartz
		return true
	}
	every, err := strconv.ParseInt(strings.TrimSpace(t.Interval), 10, 64)
	unit, known := quartzUnits[strings.TrimSpace(t.Unit)]
	count := strings.TrimSpace(t.Count)
	switch {
	case !known:
		note("an interval in units of %s is not an interval: write a cron expression", t.Unit)
		return false
	case t.Interval == "" || count == "0":
		if s.Start == nil {
			note("it fired once, when Quartz started; it was left out")
			return false
		}
		s.At, s.Start, s.End, s.Catchup = s.Start, nil, nil, ""
		return true
	case err != nil || every <= 0 || every > int64(10*365*24*time.Hour/unit):
		note("its interval %q cannot be read", t.Interval)
		return false
	}
	s.Every = dag.Duration(time.Duration(every) * unit)
	if unit >= 24*time.Hour {
		note("Quartz counts its days by the calendar; ax counts 24 hours each: for a fixed time of day write a cron expression")
	}
	if count != "" && count != "-1" {
		note("it ended after %s repetitions: give the schedule an end", count)
	}
	return true
}
