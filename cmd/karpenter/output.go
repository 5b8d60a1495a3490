package main

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"
)

// writeValue writes a value for programs: as YAML, or for every other output as JSON.
func writeValue(w io.Writer, output string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeText(w, output, append(text, '\n'))
}

// writeText writes an answer. For yaml it is JSON, and written as YAML; for every other output as it is.
func writeText(w io.Writer, output string, text []byte) (err error) {
	if output == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	}
	_, err = w.Write(text)
	return err
}
