package data

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files are the published ones, byte for byte; README.md states the same sums.
func TestFilesAreThePublishedOnes(t *testing.T) {
	for _, c := range []struct {
		name string
		read func() ([]byte, error)
		sum  string
	}{
		{"flights", Flights, "52f0ddd892d4569284b845e17323abc9afb7d303ec8f63251634a20327a610bb"},
		{"airports", Airports, "903c7169e6d558eefb95295fe2947ec8503135fbb855ea5c737cf4a90ea603ad"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain, err := c.read()
			require.NoError(t, err)
			sum := sha256.Sum256(plain)
			require.Equal(t, c.sum, hex.EncodeToString(sum[:]))
		})
	}
}

func TestUnpackNamesTheBrokenFile(t *testing.T) {
	_, err := unpack("airports.csv", []byte("no gzip"))
	require.ErrorContains(t, err, "open airports.csv")
	_, err = unpack("airports.csv", airports[:len(airports)/2])
	require.ErrorContains(t, err, "unpack airports.csv")
}
