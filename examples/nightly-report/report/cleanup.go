package report

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Cleaned tells how much was left behind.
type Cleaned struct {
	Removed int `json:"removed"`
}

// String tells a log what was done.
func (c Cleaned) String() string { return fmt.Sprintf("%d drafts removed", c.Removed) }

// Cleanup makes the step that removes the drafts that a killed Publish left in a folder,
// those of the request's date only. A folder that does not exist is clean.
func Cleanup(folder string) func(context.Context, Request) (Cleaned, error) {
	return func(_ context.Context, in Request) (Cleaned, error) {
		if err := checkDate(in.Date); err != nil {
			return Cleaned{}, err
		}
		files, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Cleaned{}, fmt.Errorf("list drafts: %w", err)
		}
		var done Cleaned
		for _, f := range files {
			if !strings.HasPrefix(f.Name(), draftPrefix(in.Date)) {
				continue
			}
			if err := os.Remove(filepath.Join(folder, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return Cleaned{}, fmt.Errorf("remove draft: %w", err)
			}
			done.Removed++
		}
		return done, nil
	}
}
