package dbtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// processID distinguishes the databases of test programs that run at once.
var processID = os.Getpid()

// sharedServer is the server of this test program: the machine's shared one, or the one that
// AX_TEST_DATABASE_URL names (then home and command are empty).
type sharedServer struct {
	url     string
	command string
	home    home
}

// shared finds or starts the server, once per test program, and claims it until the program ends.
var shared = sync.OnceValues(func() (sharedServer, error) {
	if named := os.Getenv("AX_TEST_DATABASE_URL"); named != "" {
		if _, err := pgx.ParseConfig(named); err != nil || !strings.Contains(named, "://") {
			return sharedServer{}, errors.Join(errors.New("AX_TEST_DATABASE_URL is not a postgres:// URL"), err)
		}
		return sharedServer{url: named}, nil
	}
	place := home(filepath.Join(os.TempDir(), "ax-dbtest-"+strconv.Itoa(os.Geteuid())))
	return place.claim()
})

func (s sharedServer) database(name string) string {
	u, err := url.Parse(s.url)
	if err != nil {
		panic(err) // shared has parsed it
	}
	u.Path = "/" + name
	return u.String()
}

// home is the folder in which the test programs of one user meet. Its files:
//
//	clients  locked (shared) by every test program that uses the server, until it ends
//	start    locked by the program that looks for the server and starts it
//	server   the server's URL and the command line to bring it back, while it runs
//	kept     names of databases that failed tests left behind
//	log      what the keeper says
//	db-…     the server's data
type home string

func (h home) path(name string) string { return filepath.Join(string(h), name) }

// claim returns the running server, started when there is none. The claim is a file lock, which the
// kernel drops when this program ends, however it ends.
func (h home) claim() (sharedServer, error) {
	if err := h.make(); err != nil {
		return sharedServer{}, err
	}
	if err := h.lockClients(); err != nil {
		return sharedServer{}, err
	}
	start, err := lockFile(h.path("start"), syscall.LOCK_EX)
	if err != nil {
		return sharedServer{}, err
	}
	server, err := h.find()
	if err != nil {
		server, err = h.startKeeper()
	}
	return server, errors.Join(err, start.Close())
}

// make makes the folder; the account that runs the server for root must be able to pass it.
func (h home) make() error {
	if err := os.Mkdir(string(h), 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make folder of the test server: %w", err)
	}
	info, err := os.Lstat(string(h))
	if err != nil {
		return fmt.Errorf("check folder of the test server: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to someone else: set TMPDIR to a folder of your own", h)
	}
	return nil
}

// claims holds the locked files open for the life of the program: an unreferenced file is closed.
var claims []*os.File

func (h home) lockClients() error {
	file, err := lockFile(h.path("clients"), syscall.LOCK_SH)
	if err != nil {
		return err
	}
	claims = append(claims, file)
	return nil
}

// find returns the server that the file names, if it answers.
func (h home) find() (sharedServer, error) {
	text, err := os.ReadFile(h.path("server"))
	if err != nil {
		return sharedServer{}, fmt.Errorf("look for test server: %w", err)
	}
	location, command, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	server := sharedServer{url: location, command: command, home: h}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.url)
	if err != nil {
		return sharedServer{}, fmt.Errorf("connect to test server: %w", err)
	}
	return server, conn.Close(ctx)
}

// startKeeper starts this same program once more, detached, as the server's keeper, and waits for
// its word: empty when the server runs, else why it does not.
func (h home) startKeeper() (sharedServer, error) {
	word, say, err := os.Pipe()
	if err != nil {
		return sharedServer{}, fmt.Errorf("make pipe to the keeper: %w", err)
	}
	err = errors.Join(h.runKeeper(say), say.Close())
	said, readErr := io.ReadAll(word)
	if err := errors.Join(err, readErr, word.Close()); err != nil {
		return sharedServer{}, fmt.Errorf("start keeper of the test server: %w", err)
	}
	if len(said) > 0 {
		return sharedServer{}, errors.New(string(said))
	}
	return h.find()
}

func (h home) runKeeper(say *os.File) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(h.path("log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), keeperVariable+"="+string(h))
	cmd.Dir = string(h)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{say}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return errors.Join(cmd.Start(), log.Close())
}

// markKept makes the keeper leave the server's data when it ends.
func (s sharedServer) markKept(name string) error {
	file, err := os.OpenFile(s.home.path("kept"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep database: %w", err)
	}
	_, err = file.WriteString(name + "\n")
	return errors.Join(err, file.Close())
}

// lockFile opens a file and locks it, waiting unless how says LOCK_NB. Closing it unlocks it.
func lockFile(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
	}
}
