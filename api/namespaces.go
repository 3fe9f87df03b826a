package api

import (
	"context"
	"net/http"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// Namespace is a world of its own: workflows, runs, pools and workers of one see nothing of another's.
type Namespace struct {
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}

// MadeNamespace is a namespace, and whether it is new.
type MadeNamespace struct {
	Name    string `json:"name"`
	Created bool   `json:"created"`
}

type namespaceMark string

func (a *API) namespaceRoutes() {
	handle(a, op(http.MethodGet, prefix+"/namespaces", "list-namespaces", "namespaces"), "List namespaces by name", a.listNamespaces)
	handle(a, needing(Admin, op(http.MethodPut, prefix+"/namespaces/{namespace}", "put-namespace", "namespaces")),
		"Make a namespace, unless it is there", a.putNamespace)
}

// listNamespaces lists those that the caller reaches.
func (a *API) listNamespaces(ctx context.Context, in *PageInput) (*body[Page[Namespace]], error) {
	after, err := readCursor(in.Cursor, namespaceMark(""))
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Namespaces(ctx, string(after), in.Limit+1)
	if err != nil {
		return nil, err
	}
	page, err := paged(rows, in.Limit, func(n store.NamespaceRow) Namespace { return Namespace{n.Name, utc(n.CreatedAt)} },
		func(n store.NamespaceRow) namespaceMark { return namespaceMark(n.Name) })
	mine := page.Items[:0]
	for _, n := range page.Items {
		if who(ctx).reaches(n.Name) {
			mine = append(mine, n)
		}
	}
	page.Items = mine
	return answerOf(page, err)
}

func (a *API) putNamespace(ctx context.Context, in *InNamespace) (*body[MadeNamespace], error) {
	created, err := a.Store.AddNamespace(ctx, in.Namespace)
	return answerOf(MadeNamespace{in.Namespace, created}, err)
}
