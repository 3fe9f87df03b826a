package pgdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dirLock is the claim of one process on a data folder. The kernel drops it when the process dies,
// so that a server found running under a free lock is an orphan that is shutting down.
type dirLock struct {
	file     *os.File
	released chan struct{}
}

func lockDir(dir string) (*dirLock, error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of data folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(inUse(dir, path), file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock data folder: %w", err), file.Close())
	}
	lock := &dirLock{file: file, released: make(chan struct{})}
	if err := lock.sign(); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return lock, nil
}

// sign writes this process's id into the lock, for the message of whoever finds it taken.
func (l *dirLock) sign() error {
	text := strconv.Itoa(os.Getpid()) + "\n"
	if err := l.file.Truncate(int64(len(text))); err != nil {
		return fmt.Errorf("sign lock of data folder: %w", err)
	}
	if _, err := l.file.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("sign lock of data folder: %w", err)
	}
	return nil
}

func (l *dirLock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release data folder: %w", err)
	}
	return nil
}

func inUse(dir, path string) error {
	holder := "another process"
	if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
		holder = "process " + strings.TrimSpace(string(text))
	}
	return fmt.Errorf("data folder %s is in use by %s: stop it, or choose another folder", dir, holder)
}
