package store

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// RunID names a run. Ids are ordered by time; people see them as 13 letters and digits that sort the same way.
type RunID int64

var runAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// String writes the id as people see it.
func (id RunID) String() string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(id))
	return runAlphabet.EncodeToString(b[:])
}

// ErrBadID says that a text is no run id or execution id of ours.
var ErrBadID = errors.New("not an id of this server")

// ParseRunID reads what String wrote.
func ParseRunID(s string) (RunID, error) {
	b, err := runAlphabet.DecodeString(strings.ToLower(s))
	if err != nil || len(b) != 8 {
		return 0, fmt.Errorf("run %.40q: %w", s, ErrBadID)
	}
	return RunID(binary.BigEndian.Uint64(b)), nil
}

// WholeNode is the shard of a node run that is not one of a node's shards.
const WholeNode = -1

// Attempt names one attempt of one node run.
type Attempt struct {
	Run        RunID
	Node       string
	Shard      int
	Generation int
	Number     int
}

// ExecutionID is the id of the node run the attempt belongs to: stable across retries and
// reroutes, new after a rerun (S18). It is the idempotency key handed to workers.
func (a Attempt) ExecutionID() string {
	id := a.Run.String() + ":" + a.Node + ":" + strconv.Itoa(a.Generation)
	if a.Shard != WholeNode {
		id += ":" + strconv.Itoa(a.Shard)
	}
	return id
}

// ParseExecutionID reads an execution id, or {run}:{node}, which has generation 0 and means the newest.
func ParseExecutionID(s string) (Attempt, error) {
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 4 {
		return Attempt{}, fmt.Errorf("node run %.80q: %w", s, ErrBadID)
	}
	run, err := ParseRunID(parts[0])
	if err != nil {
		return Attempt{}, err
	}
	a := Attempt{Run: run, Node: parts[1], Shard: WholeNode}
	for i, into := range []*int{&a.Generation, &a.Shard} {
		if len(parts) > 2+i {
			if *into, err = strconv.Atoi(parts[2+i]); err != nil {
				return Attempt{}, fmt.Errorf("node run %.80q: %w", s, ErrBadID)
			}
		}
	}
	if len(parts) > 2 && a.Generation < 1 {
		return Attempt{}, fmt.Errorf("node run %.80q: %w", s, ErrBadID)
	}
	return a, nil
}

// ParseJobArgs reads the arguments of a node run's job, as ax.job_args wrote them.
func ParseJobArgs(s string) (Attempt, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 5 {
		return Attempt{}, fmt.Errorf("job arguments %.80q: %w", s, ErrBadID)
	}
	run, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return Attempt{}, fmt.Errorf("job arguments %.80q: %w", s, ErrBadID)
	}
	a := Attempt{Run: RunID(run), Node: parts[1]}
	for i, into := range []*int{&a.Shard, &a.Generation, &a.Number} {
		if *into, err = strconv.Atoi(parts[2+i]); err != nil {
			return Attempt{}, fmt.Errorf("job arguments %.80q: %w", s, ErrBadID)
		}
	}
	return a, nil
}
