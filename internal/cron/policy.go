package cron

import "slices"

// DST names a rule for the wall times that a zone change removes or repeats (S7).
type DST string

// The rules.
const (
	// Standard is the rule of Vixie cron and cronie. A removed time fires once, at the
	// first instant after the gap; a repeated one fires in its first pass. A schedule
	// whose minute or hour field starts with '*' follows elapsed time instead: it fires
	// in both passes and makes nothing up.
	Standard DST = "standard"
	// Quartz is the rule of the Quartz scheduler: a removed time does not fire, a
	// repeated one fires in its second pass.
	Quartz DST = "quartz"
)

// Values of Options.Gap and Options.Overlap.
const (
	gapNext       = "next"
	gapSkip       = "skip"
	overlapFirst  = "first"
	overlapSecond = "second"
	overlapBoth   = "both"
)

// policy is a rule resolved for one schedule.
type policy struct {
	fillGap    bool // a match in a gap fires at its end
	skipFirst  bool // nothing fires in the first pass of a repeated stretch
	skipSecond bool // nothing fires in its second pass
}

// policyOf resolves the rule; elapsed is set for a pattern that follows elapsed time. What
// is said explicitly goes before the rule's own answer.
func policyOf(opt Options, elapsed bool) policy {
	gap, overlap := gapNext, overlapFirst
	switch {
	case opt.DST == Quartz:
		gap, overlap = gapSkip, overlapSecond
	case elapsed:
		gap, overlap = gapSkip, overlapBoth
	}
	if opt.Gap != "" {
		gap = opt.Gap
	}
	if opt.Overlap != "" {
		overlap = opt.Overlap
	}
	return policy{
		fillGap:    gap == gapNext,
		skipFirst:  overlap == overlapSecond,
		skipSecond: overlap == overlapFirst,
	}
}

func (o Options) checkDST() error {
	switch {
	case !oneOf(string(o.DST), "", string(Standard), string(Quartz)):
		return refuse("dst", string(o.DST), "write standard or quartz, or leave it out")
	case !oneOf(o.Gap, "", gapNext, gapSkip):
		return refuse("dst_gap", o.Gap, "write next or skip, or leave it out")
	case !oneOf(o.Overlap, "", overlapFirst, overlapSecond, overlapBoth):
		return refuse("dst_overlap", o.Overlap, "write first, second or both, or leave it out")
	case o.DST == Quartz && o.Gap != "":
		return refuse("dst_gap", o.Gap, "refines the standard rule; leave it out with dst: quartz")
	case o.DST == Quartz && o.Overlap != "":
		return refuse("dst_overlap", o.Overlap, "refines the standard rule; leave it out with dst: quartz")
	}
	return nil
}

func oneOf(text string, allowed ...string) bool { return slices.Contains(allowed, text) }
