package pgdev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// takeoverPatience is how long a start waits for an earlier server to leave the folder.
	takeoverPatience = 15 * time.Second
	takeoverPause    = 100 * time.Millisecond
	readyPause       = 5 * time.Millisecond
)

// errOccupied: the child gave up because an earlier server's processes are still there.
var errOccupied = errors.New("an earlier server still holds the data folder")

// launch starts the server and waits until it answers.
func (c cluster) launch(ctx context.Context) (*child, error) {
	if err := os.Rename(c.logFile(), c.logFile()+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("set old log aside: %w", err)
	}
	giveUp := time.Now().Add(takeoverPatience)
	for {
		running, err := c.attempt(ctx)
		if !errors.Is(err, errOccupied) || time.Now().After(giveUp) {
			return running, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(takeoverPause):
		}
	}
}

func (c cluster) attempt(ctx context.Context) (*child, error) {
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open server log: %w", err)
	}
	began, err := log.Seek(0, 2)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open server log: %w", err), log.Close())
	}
	running, err := startChild(c, log)
	if err := errors.Join(err, log.Close()); err != nil {
		return nil, err
	}
	err = c.awaitReady(ctx, running)
	if errors.Is(err, errExited) {
		return nil, c.explainExit(running, began)
	}
	if err != nil {
		err = errors.Join(err, running.signal(syscall.SIGQUIT))
		<-running.exited
		return nil, err
	}
	return running, nil
}

var errExited = errors.New("postgres exited")

// awaitReady returns when the server answers and the folder says that it is our child that does:
// during a takeover the earlier server may still answer at the same socket.
func (c cluster) awaitReady(ctx context.Context, running *child) error {
	tick := time.NewTicker(readyPause)
	defer tick.Stop()
	for {
		if c.servedBy(running.pid()) && c.answers(ctx) {
			return nil
		}
		select {
		case <-running.exited:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("wait for PostgreSQL to answer: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func (c cluster) servedBy(pid int) bool {
	text, err := os.ReadFile(filepath.Join(c.dataDir(), "postmaster.pid"))
	if err != nil {
		return false
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return first == strconv.Itoa(pid)
}

func (c cluster) answers(ctx context.Context) bool {
	conn, err := pgx.Connect(ctx, c.url("postgres"))
	if err != nil {
		return false
	}
	return conn.Close(ctx) == nil
}

// explainExit tells why the child ended, from what it logged since offset began.
func (c cluster) explainExit(ended *child, began int64) error {
	text, err := os.ReadFile(c.logFile())
	if err != nil {
		return fmt.Errorf("read server log: %w", err)
	}
	said := string(bytes.TrimSpace(text[min(began, int64(len(text))):]))
	// The messages are English: the cluster's locale is C.
	if strings.Contains(said, `lock file "postmaster.pid"`) || strings.Contains(said, "shared memory block") {
		return fmt.Errorf("start PostgreSQL: %w: %s", errOccupied, said)
	}
	return fmt.Errorf("start PostgreSQL: it ended with %v, saying: %s", ended.status, said)
}
