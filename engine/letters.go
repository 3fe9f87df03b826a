package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// AnsweredError says that a rerun was to answer dead letters which are not open, because somebody else has answered them; nothing was done.
type AnsweredError struct{ Letters []store.Attempt }

// Error names them.
func (e *AnsweredError) Error() string {
	names := make([]string, len(e.Letters))
	for i := range e.Letters {
		names[i] = e.Letters[i].ExecutionID()
	}
	return "there is no open dead letter " + strings.Join(names, ", ")
}

// readLetters finds which of the dead letters that reruns are to answer are open still, and keeps them so until the commit (S31).
func (m *movement) readLetters(ctx context.Context, tx pgx.Tx) error {
	for _, r := range m.runs {
		for _, f := range r.acts {
			if f.act.Rerun == nil || len(f.act.Rerun.Letters) == 0 {
				continue
			}
			open, err := m.engine.store.LockLetters(ctx, tx, f.act.Rerun.Letters)
			if err != nil {
				return err
			}
			r.open = append(r.open, open...)
		}
	}
	return nil
}

// answerable wants all dead letters that a rerun is to answer to be open.
func (r *moving) answerable(rerun *Rerun) error {
	var closed []store.Attempt
	for _, l := range rerun.Letters {
		if !slices.ContainsFunc(r.open, func(o store.Attempt) bool { return o.ExecutionID() == l.ExecutionID() }) {
			closed = append(closed, l)
		}
	}
	if len(closed) > 0 {
		return &AnsweredError{Letters: closed}
	}
	return nil
}
