package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFoldersOfKilledProcessesAreClearedAway(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	room := func(name string, age time.Duration) string {
		dir := filepath.Join(parent, roomPattern+name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "1", "work"), 0o700))
		require.NoError(t, os.Chtimes(dir, time.Time{}, time.Now().Add(-age)))
		return dir
	}
	left, held, young := room("left", time.Hour), room("held", time.Hour), room("young", 0)
	other := filepath.Join(parent, "ax-other")
	require.NoError(t, os.Mkdir(other, 0o700))
	lock, err := lockRoom(held)
	require.NoError(t, err)
	sweepRooms(parent, time.Now())
	require.NoDirExists(t, left)
	for _, kept := range []string{held, young, other} {
		require.DirExists(t, kept)
	}
	require.NoError(t, lock.Close())
	sweepRooms(parent, time.Now())
	require.NoDirExists(t, held)
}

func TestAttemptsShareOneFolderWhileAnyOfThemLives(t *testing.T) {
	t.Parallel()
	room := &workroom{}
	first, err := newWorkspace(room, nil)
	require.NoError(t, err)
	second, err := newWorkspace(room, nil)
	require.NoError(t, err)
	parent := filepath.Dir(first.dir)
	require.Equal(t, parent, filepath.Dir(second.dir))
	require.NotEqual(t, first.dir, second.dir)
	_, err = lockRoom(parent)
	require.Error(t, err, "another process can see that it is in use")
	require.NoError(t, first.remove())
	require.DirExists(t, second.work)
	require.NoError(t, second.remove())
	require.NoDirExists(t, parent)
}
