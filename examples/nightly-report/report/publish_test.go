package report

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPublishTwiceIsPublishedOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "folder")
	first, err := Publish(folder)(context.Background(), Page{"2001-01-15", "<p>one</p>"})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(folder, "flights-2001-01-15.html"), first.Path)
	before, err := os.Stat(first.Path)
	require.NoError(t, err)

	second, err := Publish(folder)(context.Background(), Page{"2001-01-15", "<p>one</p>"})
	require.NoError(t, err)
	require.Equal(t, first, second)
	after, err := os.Stat(first.Path)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "an equal report is left alone")
}

func TestPublishReplacesAnOlderReport(t *testing.T) {
	folder := t.TempDir()
	for _, html := range []string{"old and longer", "new"} {
		got, err := Publish(folder)(context.Background(), Page{"2001-01-15", html})
		require.NoError(t, err)
		require.Equal(t, len(html), got.Bytes)
		content, err := os.ReadFile(got.Path)
		require.NoError(t, err)
		require.Equal(t, html, string(content))
	}
	require.Len(t, list(t, folder), 1, "no draft is left")
}

func TestPublishRefuses(t *testing.T) {
	_, err := Publish(t.TempDir())(context.Background(), Page{"../../x", "<p>"})
	requireDirty(t, err, "is no date")
	_, err = Publish("")(context.Background(), Page{"2001-01-15", "<p>"})
	requireDirty(t, err, "there is no folder to publish into")

	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	folder := t.TempDir()
	_, err = Publish(folder)(canceled, Page{"2001-01-15", "<p>"})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, list(t, folder))
}

// A folder in the report's place cannot be replaced: the draft goes, the error says where.
func TestPublishFailureLeavesNoDraft(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, fileName("2001-01-15"))
	require.NoError(t, os.MkdirAll(filepath.Join(path, "full"), 0o755))
	_, err := Publish(folder)(context.Background(), Page{"2001-01-15", "<p>"})
	require.ErrorContains(t, err, "publish "+path)
	require.Equal(t, []string{fileName("2001-01-15")}, list(t, folder))
}

func TestCleanupRemovesTheDraftsOfItsDate(t *testing.T) {
	folder := t.TempDir()
	keep := []string{".flights-2001-01-16.html.7", "flights-2001-01-15.html", "notes.txt"}
	for _, name := range append([]string{".flights-2001-01-15.html.1", ".flights-2001-01-15.html.2"}, keep...) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	got, err := Cleanup(folder)(context.Background(), Request{"2001-01-15"})
	require.NoError(t, err)
	require.Equal(t, Cleaned{Removed: 2}, got)
	require.Equal(t, keep, list(t, folder))
}

func TestCleanupOfAnAbsentFolder(t *testing.T) {
	got, err := Cleanup(filepath.Join(t.TempDir(), "none"))(context.Background(), Request{"2001-01-15"})
	require.NoError(t, err)
	require.Zero(t, got)
	_, err = Cleanup(t.TempDir())(context.Background(), Request{"x"})
	requireDirty(t, err, "is no date")
}

func list(t *testing.T, folder string) []string {
	t.Helper()
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}
