package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settable are the flags that may also be said in the environment, as AX_ and their name in capitals. What a flag says goes
// before the environment, and that before the context of the config file.
var settable = []string{
	"server", "token", "namespace", "output", "context",
	"database-url", "postgres-bin", "data", "listen", "default-timezone", "allow-http-targets", "log-format", "log-level",
}

// configFile is what the config file says.
type configFile struct {
	// Context is the name of the one to use when none is said.
	Context  string                   `yaml:"context"`
	Contexts map[string]configContext `yaml:"contexts"`
}

// configContext is a server as somebody uses it.
type configContext struct {
	Server    string `yaml:"server,omitempty"`
	Token     string `yaml:"token,omitempty"`
	Namespace string `yaml:"namespace,omitempty"`
	Output    string `yaml:"output,omitempty"`
}

// layer is one source of settings, as koanf wants it.
type layer map[string]any

// Read returns the settings.
func (l layer) Read() (map[string]any, error) { return l, nil }

// ReadBytes is for sources that are text, which this is none of.
func (l layer) ReadBytes() ([]byte, error) { return nil, errors.New("settings are not text") }

// configure gives every settable flag that was not said its value from the environment or the config file.
func (c *call) configure(cmd *cobra.Command) error {
	said := koanf.New(".")
	fromEnv := c.environment()
	name, named := fromEnv["context"].(string)
	if flag := cmd.Flags().Lookup("context"); flag != nil && flag.Changed {
		name, named = flag.Value.String(), true
	}
	fromFile, err := c.readContext(name, named, cmd.Annotations[makesConfig] != "")
	if err != nil {
		return err
	}
	for _, l := range []layer{fromFile, fromEnv} {
		if err := said.Load(l, nil); err != nil {
			return fmt.Errorf("read settings: %w", err)
		}
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || !said.Exists(f.Name) || !slices.Contains(settable, f.Name) {
			return
		}
		if err := f.Value.Set(said.String(f.Name)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", variable(f.Name), err))
		}
	})
	return errors.Join(append(errs, checkOutput(c.output))...)
}

// variable is the name of the environment's variable for a flag.
func variable(flag string) string {
	return "AX_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (c *call) environment() layer {
	l := layer{}
	for _, flag := range settable {
		value, set := c.getenv(variable(flag))
		if !set || value == "" {
			continue
		}
		if flag == "output" && checkOutput(value) != nil {
			continue // inside a command node AX_OUTPUT names the file for its output
		}
		l[flag] = value
	}
	return l
}

// makesConfig annotates verbs that make a config file where there is none.
const makesConfig = "makes-config"

// readContext reads a context of the config file, by its name or the one that the file says is in use. A file that AX_CONFIG names must be
// there, unless it may be new.
func (c *call) readContext(name string, named, mayBeNew bool) (layer, error) {
	path, err := c.configPath()
	if err != nil {
		if named {
			return nil, fmt.Errorf("there is no config file for the context %q: %w", name, err)
		}
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named && (mayBeNew || !c.configNamed()) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read config file: %w", err)
	}
	var file configFile
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&file); err != nil && len(bytes.TrimSpace(text)) > 0 {
		return nil, fmt.Errorf("read config file %s: %w", path, err)
	}
	if !named {
		name = file.Context
	}
	chosen, found := file.Contexts[name]
	if !found && name != "" {
		return nil, fmt.Errorf("the config file %s has no context %q", path, name)
	}
	return chosen.layer(), nil
}

// configNamed reports whether AX_CONFIG names the config file.
func (c *call) configNamed() bool {
	path, set := c.getenv("AX_CONFIG")
	return set && path != ""
}

func (c *call) configPath() (string, error) {
	if path, set := c.getenv("AX_CONFIG"); set && path != "" {
		return path, nil
	}
	if dir, set := c.getenv("XDG_CONFIG_HOME"); set && dir != "" {
		return filepath.Join(dir, "ax", "config.yaml"), nil
	}
	home, set := c.getenv("HOME")
	if !set || home == "" {
		return "", errors.New("HOME is not set")
	}
	return filepath.Join(home, ".config", "ax", "config.yaml"), nil
}

func (f configContext) layer() layer {
	l := layer{}
	for name, value := range map[string]string{"server": f.Server, "token": f.Token, "namespace": f.Namespace, "output": f.Output} {
		if value != "" {
			l[name] = value
		}
	}
	return l
}
