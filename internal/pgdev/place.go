package pgdev

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

const (
	// lockName marks a folder as ours, and is locked while a process serves it.
	lockName = "server.lock"
	// refuge is where the data of root's server lives when the folder asked for is out of reach.
	refuge = "/var/lib/ax"
	// socketRoom is what the kernel allows for a socket's path: 103 bytes on macOS, 107 on Linux.
	socketRoom = 103
	socketName = "/.s.PGSQL.5432"
)

// prepareDir makes dir a folder that only the account can read, and returns where it really is.
func prepareDir(ctx context.Context, dir string, owner account) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make data folder: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("resolve data folder: %w", err)
	}
	fresh, err := freshOrOurs(resolved)
	if err != nil {
		return "", err
	}
	if err := giveTo(resolved, owner); err != nil {
		return "", err
	}
	if owner.canEnter(ctx, resolved) {
		return resolved, nil
	}
	if !fresh {
		return "", fmt.Errorf("data folder %s cannot be entered by user %s, who runs PostgreSQL for root: choose a folder whose parents it may pass", dir, owner.name)
	}
	return moveToRefuge(dir, owner)
}

// freshOrOurs refuses a folder with foreign content, whose mode and owner are not ours to change.
// It is fresh when it is empty.
func freshOrOurs(dir string) (fresh bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("read data folder: %w", err)
	}
	if len(entries) == 0 {
		return true, nil
	}
	if _, err := os.Lstat(filepath.Join(dir, lockName)); err != nil {
		return false, fmt.Errorf("data folder %s holds something else (it has no %s): choose an empty or a new folder", dir, lockName)
	}
	return false, nil
}

func giveTo(dir string, owner account) error {
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("protect folder: %w", err)
	}
	if owner.credential == nil {
		return nil
	}
	if err := os.Chown(dir, owner.uid, owner.gid); err != nil {
		return fmt.Errorf("give folder to user %s: %w", owner.name, err)
	}
	return nil
}

// moveToRefuge replaces the empty folder dir by a link to a new one that every account can reach.
func moveToRefuge(dir string, owner account) (string, error) {
	if err := os.MkdirAll(refuge, 0o755); err != nil {
		return "", fmt.Errorf("make data folder: %w", err)
	}
	reachable, err := os.MkdirTemp(refuge, "postgres-")
	if err != nil {
		return "", fmt.Errorf("make data folder: %w", err)
	}
	if err := giveTo(reachable, owner); err != nil {
		return "", err
	}
	if err := os.Remove(dir); err != nil {
		return "", fmt.Errorf("replace data folder by a link: %w", err)
	}
	if err := os.Symlink(reachable, dir); err != nil {
		return "", fmt.Errorf("replace data folder by a link: %w", err)
	}
	return reachable, nil
}

var plainPath = regexp.MustCompile(`^[A-Za-z0-9/._+@-]+$`)

// socketDir is dir itself unless its path is too long for a socket, or has signs that the setting's
// list syntax would split; then it is a private folder below /tmp, the same one at each start.
func socketDir(dir string, owner account) (string, error) {
	if len(dir)+len(socketName) <= socketRoom && plainPath.MatchString(dir) {
		return dir, nil
	}
	short := "/tmp/ax-pg-" + shortHash(dir)
	if err := os.Mkdir(short, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make socket folder: %w", err)
	}
	info, err := os.Lstat(short)
	if err != nil {
		return "", fmt.Errorf("check socket folder: %w", err)
	}
	// Others can write to /tmp: a folder of this name that is not ours is a trap.
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || (int(stat.Uid) != os.Geteuid() && int(stat.Uid) != owner.uid) {
		return "", fmt.Errorf("socket folder %s belongs to someone else: choose a data folder with a short path", short)
	}
	return short, giveTo(short, owner)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// defaultCacheDir is the user's own, but for root one that the server's account can reach too.
func defaultCacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/ax", nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	return filepath.Join(base, "ax"), nil
}
