package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// workspace is an attempt's own folder: the program's working folder, and beside it the files of its input and output.
type workspace struct {
	room                     *workroom
	dir, work, input, output string
}

func newWorkspace(room *workroom, inputs json.RawMessage) (*workspace, error) {
	parent, err := room.enter()
	if err != nil {
		return nil, fmt.Errorf("make the folder of attempts: %w", err)
	}
	dir, err := os.MkdirTemp(parent, "")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the attempt's folder: %w", err), room.leave())
	}
	w := &workspace{room: room, dir: dir, work: filepath.Join(dir, "work"), input: filepath.Join(dir, "input.json"), output: filepath.Join(dir, "output.json")}
	if err := errors.Join(os.Mkdir(w.work, 0o700), os.WriteFile(w.input, objectOr(inputs), 0o600)); err != nil {
		return nil, errors.Join(fmt.Errorf("fill the attempt's folder: %w", err), w.remove())
	}
	return w, nil
}

func (w *workspace) remove() error {
	if err := errors.Join(os.RemoveAll(w.dir), w.room.leave()); err != nil {
		return fmt.Errorf("remove the attempt's folder: %w", err)
	}
	return nil
}

// written is what the program wrote to its output file: nothing if it did not. A larger file than an output may be is not read.
func (w *workspace) written() ([]byte, error) {
	info, err := os.Lstat(w.output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case info.Size() > maxOutput:
		return nil, fmt.Errorf("%d bytes, at most %d are kept; write them elsewhere and output their place", info.Size(), maxOutput)
	}
	b, err := os.ReadFile(w.output)
	b = bytes.TrimSpace(b)
	if why := badOutput(b); err == nil && why != "" {
		err = errors.New(why)
	}
	return b, err
}
