package report

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the page
	"fmt"
	"html/template"
	"slices"
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Result is what the page is made of.
type Result struct {
	Day     Checked `json:"day"`
	Ranking Ranking `json:"ranking"`
}

// Page is the finished report.
type Page struct {
	Date string `json:"date"`
	HTML string `json:"html"`
}

// String tells a log what was made.
func (p Page) String() string {
	return fmt.Sprintf("the page for %s has %d bytes", p.Date, len(p.HTML))
}

// view is what the template shows: text and whole numbers only, so that the page has the
// same bytes on every machine.
type view struct {
	Date    string
	Total   line
	Worst   []Leg
	Regions []block
	Skipped []skip
	Chart   chart
	Late    int
}

// block is one region's table.
type block struct {
	Title  string
	States []line
	Total  line
}

// skip is one region that is not in the report, and why.
type skip struct{ Title, Reason string }

// line is one row of a table.
type line struct {
	State
	Mean, LateShare, OutboundShare string
}

// Render draws the report as one HTML page that needs nothing beside it. A region that
// did not deliver is named together with the reason.
func Render(_ context.Context, in Result) (Page, error) {
	if err := checkDate(in.Day.Date); err != nil {
		return Page{}, err
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, newView(in)); err != nil {
		return Page{}, fmt.Errorf("render page: %w", err)
	}
	return Page{Date: in.Day.Date, HTML: out.String()}, nil
}

func newView(in Result) view {
	v := view{Date: in.Day.Date, Worst: in.Ranking.Worst, Late: LateAfter, Skipped: skipped(in)}
	total, all := State{Code: "All"}, []State{}
	for _, t := range in.Ranking.Regions {
		b := newBlock(t)
		v.Regions = append(v.Regions, b)
		total, all = total.plus(b.Total.State), append(all, t.States...)
	}
	v.Total = newLine(total)
	v.Chart = newChart(byMeanDelay(all))
	return v
}

func newBlock(t Totals) block {
	b := block{Title: t.Region.Title()}
	total := State{Code: "All"}
	for _, s := range t.States {
		b.States = append(b.States, newLine(s))
		total = total.plus(s)
	}
	b.Total = newLine(total)
	return b
}

func newLine(s State) line {
	return line{s, tenths(s.meanTenths()), percent(s.Late, s.Flights), percent(s.Outbound, s.Flights)}
}

// skipped names the regions that are missing. A dirty record explains it; without one
// the branch failed otherwise and its log has the reason.
func skipped(in Result) []skip {
	var out []skip
	for _, r := range Regions() {
		if slices.ContainsFunc(in.Ranking.Regions, func(t Totals) bool { return t.Region == r }) {
			continue
		}
		problems := in.Day.problems(r)
		if len(problems) == 0 {
			problems = []string{"the branch failed; see its log in the run"}
		}
		for _, p := range problems {
			out = append(out, skip{r.Title(), p})
		}
	}
	return out
}

func byMeanDelay(states []State) []State {
	slices.SortFunc(states, func(a, b State) int {
		return cmp.Or(cmp.Compare(b.meanTenths(), a.meanTenths()), cmp.Compare(a.Code, b.Code))
	})
	return states
}
