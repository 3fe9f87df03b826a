package engine

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// keys makes and checks what proves who speaks the worker protocol (contract §3): tokens of workers and of attempts, and signatures of
// dispatches. All of them are HMACs under the namespace's signing secret, so that none is stored and any server can check it; during a rotation
// the old secret is still believed.
type keys struct {
	store *store.Store
	mu    sync.Mutex
	known map[int64]knownSecrets
}

type knownSecrets struct {
	secrets [][]byte
	read    time.Time
}

// keysKept is how long a namespace's secrets are used without another look: a rotation is noticed that much later.
const keysKept = 10 * time.Second

func newKeys(s *store.Store) *keys { return &keys{store: s, known: make(map[int64]knownSecrets)} }

// secrets are those of a namespace, the current one first.
func (k *keys) secrets(ctx context.Context, namespace int64) ([][]byte, error) {
	k.mu.Lock()
	got := k.known[namespace]
	k.mu.Unlock()
	if time.Since(got.read) < keysKept {
		return got.secrets, nil
	}
	secrets, err := k.store.SigningSecrets(ctx, namespace)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[namespace] = knownSecrets{secrets, time.Now()}
	return secrets, nil
}

// NamespaceKey is the key that signs what is sent to addresses of http nodes.
func NamespaceKey(secret []byte) string { return hex.EncodeToString(secret) }

// The beginnings of tokens say what they are for.
const (
	// WorkerTokenPrefix begins the tokens of remote workers.
	WorkerTokenPrefix  = "axw_"
	attemptTokenPrefix = "axe_"
)

// workerToken is what a remote worker proves itself with; it is also the key of the signatures on what it is sent.
func workerToken(secret []byte, incarnation string) string {
	return WorkerTokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(incarnation)) + "." + seal(secret, "worker", incarnation)
}

// attemptToken is what the result_url of an attempt carries.
func attemptToken(secret []byte, a store.Attempt) string {
	return attemptTokenPrefix + seal(secret, "attempt", a.ExecutionID()+"#"+strconv.Itoa(a.Number))
}

func seal(secret []byte, what, text string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(what + ":" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// tokenWorker reads which incarnation a worker token is for, without checking it.
func tokenWorker(token string) (incarnation string, ok bool) {
	rest, ok := strings.CutPrefix(token, WorkerTokenPrefix)
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, ".")
	raw, err := base64.RawURLEncoding.DecodeString(name)
	return string(raw), err == nil
}

// worker checks a worker's token and returns its incarnation; false when it is none of this namespace.
func (k *keys) worker(ctx context.Context, namespace int64, token string) (string, bool, error) {
	incarnation, ok := tokenWorker(token)
	if !ok {
		return "", false, nil
	}
	ok, err := k.matches(ctx, namespace, token, func(secret []byte) string { return workerToken(secret, incarnation) })
	return incarnation, ok, err
}

// attempt checks the token of one attempt.
func (k *keys) attempt(ctx context.Context, namespace int64, token string, a store.Attempt) (bool, error) {
	return k.matches(ctx, namespace, token, func(secret []byte) string { return attemptToken(secret, a) })
}

func (k *keys) matches(ctx context.Context, namespace int64, token string, of func(secret []byte) string) (bool, error) {
	secrets, err := k.secrets(ctx, namespace)
	if err != nil {
		return false, err
	}
	for _, secret := range secrets {
		if hmac.Equal([]byte(token), []byte(of(secret))) {
			return true, nil
		}
	}
	return false, nil
}

// Sign is the header Ax-Signature for a body: t=<unix>,v1=<hex of HMAC-SHA256 over "t.body">.
func Sign(key string, at time.Time, body []byte) string {
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(signature(key, strconv.FormatInt(at.Unix(), 10), body)))
}

func signature(key, at string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(bytes.Join([][]byte{[]byte(at), body}, []byte(".")))
	return mac.Sum(nil)
}
