package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// dataFolder is the folder of one `ax dev`, and its claim on it. The kernel drops the claim when the process dies, however it does.
type dataFolder struct {
	path string
	lock *os.File
}

func openData(path string) (*dataFolder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find data folder: %w", err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "dev.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of data folder: %w", err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = failure(exitFailed, "another `ax dev` runs on the data folder %s: stop it, or choose another folder with --data", path)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &dataFolder{path: path, lock: lock}, nil
}

func (d *dataFolder) close() error { return d.lock.Close() }
