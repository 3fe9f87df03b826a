package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func newLogin(c *call) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:         "login",
		Annotations: map[string]string{makesConfig: "yes"},
		Short:       "Keep a server and a token in the config file",
		Long: "Tries a server (--server) and a token (--token, or a line of standard input), and keeps both, with --namespace, as a context of the config\n" +
			"file, which is used from then on. Only this user can read the file.",
		Example: "  ax login --server https://ax.example.org --name work",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.remote.token == "" {
				token, err := c.readToken()
				if err != nil {
					return err
				}
				c.remote.token = token
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			var me api.Me
			if err := client.get(cmd.Context(), mePath, nil, &me); err != nil {
				return err
			}
			err = c.changeConfig(func(file *configFile) error {
				file.Context = name
				file.Contexts[name] = configContext{Server: c.remote.server, Token: c.remote.token, Namespace: c.remote.namespace}
				return nil
			})
			if err != nil {
				return err
			}
			return c.show(me, func() string {
				return fmt.Sprintf("signed in at %s as %s (%s); the context %s is used from now on\n", c.remote.server, printable(me.Actor), me.Role, name)
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "default", "what to call the context")
	return cmd
}

func (c *call) readToken() (string, error) {
	if c.person {
		fmt.Fprint(c.err, "token: ")
	}
	line, err := bufio.NewReader(c.in).ReadString('\n')
	if line = strings.TrimSpace(line); line != "" {
		return line, nil
	}
	return "", failure(exitUsage, "no token was given: say --token, set AX_TOKEN, or write it to standard input (%v)", err)
}

// contextView is one context as it is shown: without its token.
type contextView struct {
	Name      string `json:"name"`
	Server    string `json:"server"`
	Namespace string `json:"namespace,omitempty"`
	InUse     bool   `json:"in_use"`
}

func newContext(c *call) *cobra.Command {
	cmd := &cobra.Command{Use: "context", Short: "Choose among the servers of the config file", RunE: needVerb}
	list := &cobra.Command{
		Use: "list", Short: "List the contexts of the config file", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			file, _, err := c.readConfig()
			if err != nil {
				return err
			}
			views := struct {
				Items []contextView `json:"items"`
			}{[]contextView{}}
			for _, name := range slices.Sorted(maps.Keys(file.Contexts)) {
				k := file.Contexts[name]
				views.Items = append(views.Items, contextView{name, k.Server, k.Namespace, name == file.Context})
			}
			return c.show(views, func() string {
				t := table{header: []string{"", "CONTEXT", "SERVER", "NAMESPACE"}}
				for _, v := range views.Items {
					mark := ""
					if v.InUse {
						mark = "*"
					}
					t.add(plain(mark), plain(v.Name), plain(v.Server), plain(v.Namespace))
				}
				return t.render(c.colour)
			})
		},
	}
	use := &cobra.Command{
		Use: "use NAME", Short: "Use a context from now on", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.changeConfig(func(file *configFile) error {
				if _, there := file.Contexts[args[0]]; !there {
					return failure(exitNotFound, "there is no context %q; `ax context list` shows them, `ax login --name NAME` makes one", args[0])
				}
				file.Context = args[0]
				return nil
			})
		},
	}
	cmd.AddCommand(list, use)
	return cmd
}

// readConfig reads the whole config file; one that does not exist is empty.
func (c *call) readConfig() (configFile, string, error) {
	file := configFile{Contexts: make(map[string]configContext)}
	path, err := c.configPath()
	if err != nil {
		return file, "", failure(exitUsage, "there is no place for a config file: %w", err)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, path, nil
	}
	if err != nil {
		return file, path, fmt.Errorf("read config file: %w", err)
	}
	if len(bytes.TrimSpace(text)) > 0 {
		if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&file); err != nil {
			return file, path, fmt.Errorf("read config file %s: %w", path, err)
		}
	}
	if file.Contexts == nil {
		file.Contexts = make(map[string]configContext)
	}
	return file, path, nil
}

// changeConfig writes the config file anew, all or nothing; only its owner can read it.
func (c *call) changeConfig(change func(*configFile) error) error {
	file, path, err := c.readConfig()
	if err != nil {
		return err
	}
	if err := change(&file); err != nil {
		return err
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		return fmt.Errorf("write config file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make folder of the config file: %w", err)
	}
	beside, err := os.CreateTemp(filepath.Dir(path), ".config-")
	if err != nil {
		return fmt.Errorf("write config file: %w", err)
	}
	_, err = beside.Write(text)
	if err = errors.Join(err, beside.Close()); err == nil {
		err = os.Rename(beside.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write config file: %w", err), os.Remove(beside.Name()))
	}
	return nil
}
