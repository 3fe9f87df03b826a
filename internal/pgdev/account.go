package pgdev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who runs the server's programs: initdb and postgres refuse to run as root.
type account struct {
	name string
	uid  int
	gid  int
	// credential is nil unless this process is root and must change to the account.
	credential *syscall.Credential
}

// serverAccount is this process's own account, or for root the user postgres, else nobody.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{name: "this user", uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return account{}, fmt.Errorf("read ids of user %s: %w", name, err)
		}
		// Groups stays nil, which makes Go drop the groups of root.
		credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return account{name: name, uid: uid, gid: gid, credential: credential}, nil
	}
	return account{}, errors.New("PostgreSQL refuses to run as root and there is neither a user postgres nor nobody: run as an ordinary user")
}

// command prepares a short-lived program that runs as the account, with an environment of its own
// (the PG… variables of the caller must not leak in) and untouched by Ctrl-C in the terminal.
func (a account) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = environment(dir, filepath.Dir(program))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential, Setpgid: true}
	return cmd
}

func environment(home, bin string) []string {
	return []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + home, "LC_ALL=C", "TZ=UTC"}
}

// canEnter says whether the account may pass through every parent of dir and into it. The kernel is
// asked, because modes alone do not tell (access lists, mounts).
func (a account) canEnter(ctx context.Context, dir string) bool {
	return a.command(ctx, "/", "/bin/sh", "-c", `cd -- "$1"`, "sh", dir).Run() == nil
}
