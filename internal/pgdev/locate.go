package pgdev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
)

// oldestMajor is the oldest PostgreSQL that ax runs on.
const oldestMajor = 15

// programs is one PostgreSQL found on this machine.
type programs struct {
	dir     string
	major   int
	version string
}

func (p programs) postgres() string { return filepath.Join(p.dir, "postgres") }
func (p programs) initdb() string   { return filepath.Join(p.dir, "initdb") }

// locate finds the programs to use: those named by the caller, else those whose major version the
// data folder has data of already, else the first in the order of searchPlaces, else the pinned npm
// package.
func locate(ctx context.Context, cfg Config, dir string, owner account) (programs, error) {
	if cfg.BinDir != "" {
		return inspect(ctx, cfg.BinDir, owner)
	}
	if cfg.Archive != "" {
		bin, err := installArchive(cfg.Archive, cfg.CacheDir)
		if err != nil {
			return programs{}, err
		}
		return inspect(ctx, bin, owner)
	}
	found := search(ctx, searchPlaces(cfg.CacheDir), owner, cfg.Logger)
	for _, p := range found {
		if hasData(dir, p.major) {
			return p, nil
		}
	}
	if len(found) > 0 {
		return found[0], nil
	}
	bin, err := pinned.install(ctx, cfg.CacheDir, cfg.Logger)
	if errors.Is(err, errNoNpm) {
		return programs{}, errors.New("no PostgreSQL 15 or newer was found: " + howToInstall())
	}
	if err != nil {
		return programs{}, err
	}
	return inspect(ctx, bin, owner)
}

// searchPlaces lists groups of folders, most wanted group first; within one the newest version wins.
func searchPlaces(cacheDir string) [][]string {
	installed := globs(
		"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
		"/usr/pgsql-*/bin",          // Red Hat
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	)
	var onPath []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// The link's target: beside the link there need be no initdb.
		if target, err := filepath.EvalSymlinks(path); err == nil {
			onPath = append(onPath, filepath.Dir(target))
		}
	}
	cached := globs(filepath.Join(cacheDir, "*/bin"), filepath.Join(cacheDir, "*/*/bin"))
	return [][]string{installed, onPath, cached}
}

func globs(patterns ...string) []string {
	var found []string
	for _, pattern := range patterns {
		if matches, err := filepath.Glob(pattern); err == nil {
			found = append(found, matches...)
		}
	}
	return found
}

func search(ctx context.Context, places [][]string, owner account, log *slog.Logger) []programs {
	var found []programs
	for _, group := range places {
		var usable []programs
		for _, dir := range group {
			p, err := inspect(ctx, dir, owner)
			if err != nil {
				log.Debug("postgres passed over", "programs", dir, "reason", err)
				continue
			}
			usable = append(usable, p)
		}
		slices.SortStableFunc(usable, func(a, b programs) int { return cmp.Compare(b.major, a.major) })
		found = append(found, usable...)
	}
	return found
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) ((\d+)\S*)`)

// inspect asks the programs in dir for their version, as the account that will run them.
func inspect(ctx context.Context, dir string, owner account) (programs, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return programs{}, fmt.Errorf("resolve folder of PostgreSQL: %w", err)
	}
	p := programs{dir: dir}
	if _, err := os.Stat(p.initdb()); err != nil {
		return programs{}, fmt.Errorf("look for initdb beside postgres: %w", err)
	}
	output, err := owner.command(ctx, "/", p.postgres(), "-V").CombinedOutput()
	if err != nil {
		return programs{}, fmt.Errorf("run %s -V as %s: %w: %s", p.postgres(), owner.name, err, output)
	}
	match := versionText.FindSubmatch(output)
	if match == nil {
		return programs{}, fmt.Errorf("read version of %s: it says %q", p.postgres(), output)
	}
	p.version = string(match[1])
	if p.major, err = strconv.Atoi(string(match[2])); err != nil {
		return programs{}, fmt.Errorf("read version of %s: %w", p.postgres(), err)
	}
	if p.major < oldestMajor {
		return programs{}, fmt.Errorf("PostgreSQL in %s is version %s; ax needs %d or newer", dir, p.version, oldestMajor)
	}
	return p, nil
}

func howToInstall() string {
	if runtime.GOOS == "darwin" {
		return "install it with `brew install postgresql@17`, or name a server with --database-url, or a folder with --postgres-bin"
	}
	return "install it with your package manager (Debian, Ubuntu: `apt-get install postgresql`), or name a server with --database-url, or a folder with --postgres-bin"
}
