package api

import (
	"context"
	"encoding/hex"
	"math"
	"net/http"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// Version is one version of a workflow, which never changes.
type Version struct {
	Version    int       `json:"version"`
	Digest     string    `json:"digest" doc:"SHA-256 of the content, in hexadecimal."`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  string    `json:"created_by"`
	Definition Object    `json:"definition,omitempty" doc:"Absent in lists."`
}

type listVersionsInput struct {
	OfWorkflow
	PageInput
}

type getVersionInput struct {
	OfWorkflow
	Version int `path:"version" minimum:"1" maximum:"2147483647"`
}

func (a *API) versionRoutes() {
	handle(a, op(http.MethodGet, ns+"/workflows/{workflow}/versions", "list-versions", "workflows"),
		"List a workflow's versions, newest first", a.listVersions)
	handle(a, op(http.MethodGet, ns+"/workflows/{workflow}/versions/{version}", "get-version", "workflows"),
		"Show one version with its definition", a.getVersion)
}

type versionMark int32

func (a *API) listVersions(ctx context.Context, in *listVersionsInput) (*body[Page[Version]], error) {
	before, err := readCursor(in.Cursor, versionMark(math.MaxInt32))
	if err != nil {
		return nil, err
	}
	w, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Versions(ctx, w.ID, int(before), in.Limit+1)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, versionView, func(v store.VersionRow) versionMark { return versionMark(v.Number) }))
}

func (a *API) getVersion(ctx context.Context, in *getVersionInput) (*body[Version], error) {
	w, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil {
		return nil, err
	}
	v, err := a.Store.Version(ctx, w.ID, in.Version)
	return answerOf(versionView(v), err)
}

func versionView(v store.VersionRow) Version {
	return Version{
		Version: v.Number, Digest: hex.EncodeToString(v.Digest), CreatedAt: utc(v.CreatedAt), CreatedBy: v.CreatedBy, Definition: v.Definition,
	}
}
