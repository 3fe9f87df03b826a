package main

import (
	"context"
	"errors"
	"net/http"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax"
	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/internal/store"
)

const (
	tokensPath     = "/api/v1/tokens"
	mePath         = "/api/v1/me"
	auditPath      = "/api/v1/audit"
	namespacesPath = "/api/v1/namespaces"
)

func newTokens(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tokens",
		Short: "Work with tokens: who may use the API",
		Long: "Works with tokens. A viewer reads, a developer also writes, both inside of the namespaces that the token is for; an admin does everything.\n" +
			"While there is no token the server listens on this machine only and lets everybody in; with the first one everybody needs one.",
		RunE: needVerb,
	}
	cmd.AddCommand(newTokensCreate(c), newTokensList(c), newTokensDelete(c))
	return cmd
}

// tokenFlags are what `ax tokens create` may be told.
type tokenFlags struct {
	role        string
	namespaces  []string
	expires     time.Duration
	databaseURL string
}

func newTokensCreate(c *call) *cobra.Command {
	var f tokenFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token, and show it this once",
		Long: "Makes a token and shows it: this once, for only a hash of it is kept. The first one is best made with --database-url, past the server,\n" +
			"which then opens to other machines.",
		Example: "  ax tokens create deploy --role developer --for default --expires 2160h\n  ax tokens create alice --role admin --database-url postgres://…",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := api.TokenBody{Name: args[0], Role: api.Role(f.role), Namespaces: f.namespaces}
			if f.expires != 0 {
				wanted.ExpiresAt = new(c.now().Add(f.expires))
			}
			made, err := c.createToken(cmd.Context(), wanted, f.databaseURL)
			if err != nil {
				return err
			}
			return c.show(made, func() string { return made.Secret + "\n" })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.role, "role", string(api.Developer), "viewer, developer or admin")
	flags.StringSliceVar(&f.namespaces, "for", nil, "the namespaces it is for; all when left out")
	flags.DurationVar(&f.expires, "expires", 0, "how long it is valid; for ever when left out")
	databaseFlag(cmd, &f.databaseURL)
	return cmd
}

func (c *call) createToken(ctx context.Context, wanted api.TokenBody, databaseURL string) (made api.NewToken, err error) {
	if databaseURL == "" {
		client, err := c.client()
		if err != nil {
			return made, err
		}
		return made, client.post(ctx, tokensPath, wanted, &made)
	}
	pool, err := ax.Open(ctx, databaseURL)
	if err != nil {
		return made, failure(exitUsage, "%w", err)
	}
	defer pool.Close()
	made, err = api.MakeToken(ctx, store.New(pool), wanted, "cli:"+account())
	var problem *api.Problem
	if err != nil && !errors.As(err, &problem) {
		err = databaseError(err)
	}
	return made, err
}

// account is the name of whoever calls ax on this machine.
func account() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

func newTokensList(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List tokens, the newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			page, err := pages[api.Token](cmd.Context(), client, tokensPath, nil, noLimit)
			if err != nil {
				return err
			}
			return c.show(page, func() string {
				t := table{header: []string{"ID", "NAME", "TOKEN", "ROLE", "FOR", "EXPIRES", "LAST USED", "MADE BY"}}
				for _, k := range page.Items {
					t.add(plain(strconv.FormatInt(k.ID, 10)), plain(k.Name), plain(k.Prefix+"…"), plain(string(k.Role)), plain(reach(k.Namespaces)),
						plain(c.timeText(k.ExpiresAt)), plain(c.timeText(k.LastUsedAt)), plain(k.CreatedBy))
				}
				return t.render(c.colour)
			})
		},
	}
}

func reach(namespaces []string) string {
	if namespaces == nil {
		return "all"
	}
	return shorten(strings.Join(namespaces, ","))
}

func newTokensDelete(c *call) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Make a token invalid for good", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n, err := strconv.ParseInt(args[0], 10, 64); err != nil || n < 1 {
				return failure(exitUsage, "%q is no id of a token: `ax tokens list` shows them", args[0])
			}
			if err := c.confirm(cmd.Context(), yes, "delete token "+args[0]); err != nil {
				return err
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			return client.remove(cmd.Context(), tokensPath+"/"+args[0])
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func newNamespaces(c *call) *cobra.Command {
	cmd := &cobra.Command{Use: "namespaces", Short: "Work with namespaces: worlds that see nothing of each other", RunE: needVerb}
	list := &cobra.Command{
		Use: "list", Short: "List the namespaces that one may see", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			page, err := pages[api.Namespace](cmd.Context(), client, namespacesPath, nil, noLimit)
			if err != nil {
				return err
			}
			return c.show(page, func() string {
				t := table{header: []string{"NAMESPACE", "MADE"}}
				for _, n := range page.Items {
					t.add(plain(n.Name), plain(c.timeText(&n.CreatedAt)))
				}
				return t.render(c.colour)
			})
		},
	}
	create := &cobra.Command{
		Use: "create NAME", Short: "Make a namespace, unless it is there", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			var made api.MadeNamespace
			in := request{method: http.MethodPut, path: namespacesPath + "/" + args[0]}
			if err := client.do(cmd.Context(), in, &made); err != nil {
				return err
			}
			return c.show(made, func() string {
				if made.Created {
					return "made namespace " + made.Name + "\n"
				}
				return "namespace " + made.Name + " is there already\n"
			})
		},
	}
	cmd.AddCommand(list, create)
	return cmd
}
