package dag

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// forms are the types that a document may write in a way of their own.
var forms map[reflect.Type]func(d decoder, t *tree, at *place, out reflect.Value)

func init() {
	forms = map[reflect.Type]func(decoder, *tree, *place, reflect.Value){
		reflect.TypeFor[Duration]():  decoder.duration,
		reflect.TypeFor[time.Time](): decoder.instant,
		reflect.TypeFor[Shards]():    decoder.shards,
		reflect.TypeFor[Success]():   decoder.success,
		reflect.TypeFor[Command]():   decoder.command,
		reflect.TypeFor[Route]():     decoder.route,
		reflect.TypeFor[PoolUse]():   decoder.pool,
		reflect.TypeFor[Node]():      decoder.node,
	}
}

func (d decoder) duration(t *tree, at *place, out reflect.Value) {
	if t.kind == kindNumber && t.text != "0" {
		d.addAt(t.pos, at, CodeInvalidDuration, "%s has no unit", clip(t.text)).
			hint(`write a number and a unit, such as "%ss"`, clip(strings.TrimPrefix(t.text, "-"))).value(t.plain())
		return
	}
	if t.kind != kindNumber && !d.want(t, at, kindText) {
		return
	}
	parsed, err := ParseDuration(t.text)
	if err != nil {
		d.addAt(t.pos, at, CodeInvalidDuration, "%q is not a duration ax can use: %v", clip(t.text), err).value(t.text)
	}
	out.SetInt(int64(parsed))
}

func (d decoder) instant(t *tree, at *place, out reflect.Value) {
	if !d.want(t, at, kindText) {
		return
	}
	parsed, err := time.Parse(time.RFC3339, t.text)
	if err != nil {
		d.addAt(t.pos, at, CodeInvalidTime, "%q is not an instant", clip(t.text)).
			hint(`write it with its offset, as in "2026-12-24T02:00:00+08:00"`).value(t.text)
		return
	}
	out.Set(reflect.ValueOf(parsed))
}

func (d decoder) shards(t *tree, at *place, out reflect.Value) {
	if t.kind == kindNumber || d.want(t, at, kindText) {
		out.SetString(t.text)
	}
}

func (d decoder) success(t *tree, at *place, out reflect.Value) {
	if t.kind != kindObject {
		if d.want(t, at, kindText) {
			out.SetString(t.text)
		}
		return
	}
	d.duplicates(t, at)
	for _, f := range t.fields {
		switch {
		case f.name != "at_least":
			d.addAt(f.pos, at.key(f.name), CodeUnknownKey, "unknown key %q", clip(f.name)).
				hint("write all, any, {at_least: 3} or {at_least: 50%%}")
		case f.value.kind == kindNumber || d.want(f.value, at.key(f.name), kindText):
			out.SetString(atLeast + f.value.text)
		}
	}
}

// atLeast begins a Success that names how many.
const atLeast = "at_least "

// command reads a list of words as the program to run.
func (d decoder) command(t *tree, at *place, out reflect.Value) {
	if t.kind == kindList {
		d.value(t, at, out.FieldByName("Run"))
		return
	}
	d.object(t, at, out)
}

// route reads a bare word as its kind, and an object as the kind with what it needs.
func (d decoder) route(t *tree, at *place, out reflect.Value) {
	if t.kind == kindText {
		out.Set(reflect.ValueOf(Route{Kind: t.text}))
		return
	}
	var written struct {
		ConsistentHash string `json:"consistent_hash"`
		Worker         string `json:"worker"`
	}
	d.object(t, at, reflect.ValueOf(&written).Elem())
	switch {
	case t.kind != kindObject:
	case written.ConsistentHash != "" && written.Worker != "":
		d.add(at, CodeConflict, "a route is either consistent_hash or worker, not both")
	case written.Worker != "":
		out.Set(reflect.ValueOf(Route{Kind: RouteWorker, Worker: written.Worker}))
	default:
		out.Set(reflect.ValueOf(Route{Kind: RouteConsistentHash, Key: written.ConsistentHash}))
	}
}

// pool reads a bare name as one slot of that pool.
func (d decoder) pool(t *tree, at *place, out reflect.Value) {
	if t.kind == kindText {
		out.Set(reflect.ValueOf(PoolUse{Pool: t.text}))
		return
	}
	d.object(t, at, out)
}

// node reads `pool: X` as `pools: [X]`. The tree is changed to say so too, so that problems found
// later have their place.
func (d decoder) node(t *tree, at *place, out reflect.Value) {
	pools := slices.ContainsFunc(t.fields, func(f field) bool { return f.name == "pools" })
	fields := make([]field, 0, len(t.fields))
	for _, f := range t.fields {
		switch {
		case f.name == "pool" && pools:
			d.addAt(f.pos, at.key("pool"), CodeConflict, "pool and pools say the same thing").hint("keep one of them")
			continue
		case f.name == "pool" && f.value.kind != kindNull:
			f = field{"pools", f.pos, &tree{kind: kindList, pos: f.value.pos, items: []*tree{f.value}}}
		case f.name == "pool":
			continue
		}
		fields = append(fields, f)
	}
	t.fields = fields
	d.object(t, at, out)
}
