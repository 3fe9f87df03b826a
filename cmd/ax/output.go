package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/goccy/go-yaml"
)

// What -o may say.
const (
	outputTable = "table"
	outputJSON  = "json"
	outputYAML  = "yaml"
)

func checkOutput(output string) error {
	switch output {
	case outputTable, outputJSON, outputYAML:
		return nil
	}
	return fmt.Errorf("-o %q is unknown: write table, json or yaml", output)
}

// show writes data as -o says: as JSON or YAML with the API's names, or for people.
func (c *call) show(data any, people func() string) error {
	text := ""
	if c.output == outputTable {
		text = people()
	} else {
		encoded, err := encode(c.output, data)
		if err != nil {
			return err
		}
		text = encoded
	}
	if _, err := fmt.Fprint(c.out, text); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func encode(output string, data any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(data); err != nil {
		return "", fmt.Errorf("write json: %w", err)
	}
	if output == outputJSON {
		return b.String(), nil
	}
	text, err := yaml.JSONToYAML(b.Bytes())
	if err != nil {
		return "", fmt.Errorf("write yaml: %w", err)
	}
	return string(text), nil
}

// jsonLine is data as JSON on one line.
func jsonLine(data any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(data); err != nil {
		return "", fmt.Errorf("write json: %w", err)
	}
	return string(bytes.TrimRight(b.Bytes(), "\n")), nil
}
