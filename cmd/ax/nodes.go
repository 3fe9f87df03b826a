package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/outbound"
)

// httpFlags are where http nodes may go.
type httpFlags struct {
	allow    []string
	loopback bool
}

func (f *httpFlags) add(cmd *cobra.Command, more string) {
	cmd.Flags().StringSliceVar(&f.allow, "allow-http-targets", nil,
		"where http nodes and requests to workers may go besides public addresses: addresses, networks or host names, separated by commas"+more)
}

// client makes the requests of nodes, and goes nowhere else.
func (f httpFlags) client() (*http.Client, error) {
	policy, err := outbound.ParsePolicy(f.allow)
	if err != nil {
		return nil, failure(exitUsage, "--allow-http-targets: %w", err)
	}
	policy.AllowLoopback = f.loopback
	return outbound.NewClient(policy, outbound.Options{}), nil
}

// executor carries out http nodes.
func (f httpFlags) executor() (engine.Executor, error) {
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	return engine.NewHTTP(engine.HTTPConfig{Client: client}), nil
}

// remoteFlags are how workers that speak the worker protocol are served.
type remoteFlags struct{ publicURL string }

func (f *remoteFlags) add(cmd *cobra.Command, or string) {
	cmd.Flags().StringVar(&f.publicURL, "public-url", "", "where workers reach the API, as https://ax.example: the result_url they are told begins so; "+or)
}

// url checks the flag.
func (f *remoteFlags) url() (string, error) {
	u, err := url.Parse(f.publicURL)
	if f.publicURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "") {
		return "", failure(exitUsage, "--public-url %q is no URL: write it as https://ax.example", f.publicURL)
	}
	return strings.TrimSuffix(f.publicURL, "/"), nil
}

// serves makes a process serve remote workers.
func (p *process) serves(f remoteFlags, targets httpFlags) (err error) {
	if p.publicURL, err = f.url(); err != nil {
		return err
	}
	client, err := targets.client()
	p.remote = &engine.RemoteConfig{Client: client}
	return err
}

// commandFlags are whether commands run here, and what of the environment they see.
type commandFlags struct {
	allow bool
	env   []string
}

func (f *commandFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allow, "allow-commands", false, "run command nodes here, as this user")
	cmd.Flags().StringSliceVar(&f.env, "command-env", nil, "variables of this process that commands see besides PATH, HOME, LANG, LC_ALL, TZ and TMPDIR")
}

// executor carries out command nodes; nil when they are not allowed.
func (f commandFlags) executor() engine.Executor {
	if !f.allow {
		return nil
	}
	return engine.NewCommand(engine.CommandConfig{Env: f.env})
}

// checkQueues refuses queues that would take nothing.
func checkQueues(queues map[string]int) error {
	var wrong []string
	for name, capacity := range queues {
		if capacity < 1 {
			wrong = append(wrong, fmt.Sprintf("%s=%d", name, capacity))
		}
	}
	if len(wrong) > 0 {
		return failure(exitUsage, "--queues %s: a queue runs one node at a time or more", strings.Join(wrong, ","))
	}
	return nil
}
