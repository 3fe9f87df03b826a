package engine

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ax-run/ax/dag/progress"
)

// What shells exit with when a program cannot be run, or is not there.
const (
	notExecutable = 126
	notFound      = 127
)

// find is the file of a program: one with a slash in the worker's folder, any other in the PATH that the program itself will see.
func (x *commandExecutor) find(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		if filepath.IsAbs(name) {
			return name, nil
		}
		return filepath.Abs(filepath.Join(x.Dir, name))
	}
	path := ""
	for _, variable := range env {
		if value, found := strings.CutPrefix(variable, "PATH="); found {
			path = value
		}
	}
	found := error(exec.ErrNotFound)
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		file, err := exec.LookPath(filepath.Join(folder, name))
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			found = err
		}
	}
	return "", found
}

// cannotStart is the error of a program that did not begin. As shells have it, that it is not there is exit code 127, and that
// it may not or cannot be run is 126.
func cannotStart(name string, err error) *progress.Error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return permanent("exit_127", "%s is not in the worker's PATH; install it there, or write its path with a slash", name)
	case errors.Is(err, fs.ErrNotExist):
		return permanent("exit_127", "%s cannot be started: it, or the interpreter that its first line names, does not exist on this worker", name)
	case errors.Is(err, fs.ErrPermission):
		return permanent("exit_126", "%s cannot be started: it is not executable for the worker's user", name)
	case errors.Is(err, syscall.ENOEXEC):
		return permanent("exit_126", "%s cannot be started: it is no program for this machine; a script begins with a line such as #!/bin/sh", name)
	case errors.Is(err, syscall.E2BIG):
		return permanent("exit_126", "%s cannot be started: its arguments are too long; hand data over as inputs, in the file AX_INPUT", name)
	}
	return system("start_failed", "%s cannot be started: %v", name, err)
}
