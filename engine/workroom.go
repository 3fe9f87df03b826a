package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	roomPattern = "ax-work-"
	// roomAge is how old a room is at least before it counts as left behind: its process may be about to lock it.
	roomAge = time.Minute
)

// workroom is the folder in which the attempts of this process have theirs. It is locked as long as one of them lives, so that
// the next process can tell what a killed one left behind, and clear it away.
type workroom struct {
	mu     sync.Mutex
	locked *os.File // nil while nobody is in
	guests int
	swept  bool
}

// enter is where a new attempt may make its folder.
func (r *workroom) enter() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.swept {
		r.swept = true
		sweepRooms(os.TempDir(), time.Now())
	}
	if r.locked == nil {
		dir, err := os.MkdirTemp("", roomPattern)
		if err != nil {
			return "", err
		}
		if r.locked, err = lockRoom(dir); err != nil {
			return "", errors.Join(err, os.Remove(dir))
		}
	}
	r.guests++
	return r.locked.Name(), nil
}

// leave gives the room up when the last attempt has left.
func (r *workroom) leave() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.guests--; r.guests > 0 {
		return nil
	}
	dir := r.locked
	r.locked = nil
	return errors.Join(os.RemoveAll(dir.Name()), dir.Close())
}

// lockRoom opens a room and locks it until it is closed or this process ends.
func lockRoom(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return f, nil
}

// sweepRooms removes rooms that nobody holds. One that cannot be opened or removed is another user's, and theirs to remove.
func sweepRooms(parent string, now time.Time) {
	rooms, err := filepath.Glob(filepath.Join(parent, roomPattern+"*"))
	if err != nil {
		return
	}
	for _, dir := range rooms {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || now.Sub(info.ModTime()) < roomAge {
			continue
		}
		if f, err := lockRoom(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = f.Close()
		}
	}
}
