package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Published tells where a report is. It is the same however often the report is published.
type Published struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// String tells a log where to look.
func (p Published) String() string { return p.Path }

// fileName is the report's name in its folder; checkDate has seen the date.
func fileName(date string) string { return "flights-" + date + ".html" }

// draftPrefix begins the name of a report that is still being written.
func draftPrefix(date string) string { return "." + fileName(date) + "." }

// Publish makes the step that puts a page into a folder, which it creates. A reader sees
// the old report or the new one, never a part; an equal report is left alone.
func Publish(folder string) func(context.Context, Page) (Published, error) {
	return func(ctx context.Context, page Page) (Published, error) {
		if err := errors.Join(ctx.Err(), checkDate(page.Date)); err != nil {
			return Published{}, err
		}
		if folder == "" {
			return Published{}, &DataError{Subject: page.Date, Problems: []string{"there is no folder to publish into"}}
		}
		dir, err := filepath.Abs(folder)
		if err != nil {
			return Published{}, fmt.Errorf("find folder %q: %w", folder, err)
		}
		html, path := []byte(page.HTML), filepath.Join(dir, fileName(page.Date))
		if !holds(path, html) {
			if err := replace(path, draftPrefix(page.Date), html); err != nil {
				return Published{}, fmt.Errorf("publish %s: %w", path, err)
			}
		}
		sum := sha256.Sum256(html)
		return Published{Path: path, Bytes: len(html), SHA256: hex.EncodeToString(sum[:])}, nil
	}
}

// holds says whether the file has this content. One that cannot be read has not.
func holds(path string, content []byte) bool {
	old, err := os.ReadFile(path)
	return err == nil && bytes.Equal(old, content)
}

// replace writes a draft beside path and renames it, durably.
func replace(path, prefix string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	draft, err := os.CreateTemp(dir, prefix)
	if err != nil {
		return err
	}
	if err := errors.Join(fill(draft, content), draft.Close()); err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	if err := os.Rename(draft.Name(), path); err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	return syncFolder(dir)
}

func fill(f *os.File, content []byte) error {
	if _, err := f.Write(content); err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o644), f.Sync())
}

// syncFolder makes a rename in the folder outlast a power cut.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
