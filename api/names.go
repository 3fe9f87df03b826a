package api

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// InNamespace is the part of a path that every resource has.
type InNamespace struct {
	Namespace string `path:"namespace" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" example:"default"`
}

// OfWorkflow is the path of one workflow.
type OfWorkflow struct {
	InNamespace
	Workflow string `path:"workflow" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" example:"report.daily_sales"`
}

// OfRun is the path of one run.
type OfRun struct {
	InNamespace
	Run string `path:"run" maxLength:"100" doc:"The run's id."`
}

// Object is a JSON object, kept as it was written.
type Object json.RawMessage

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) { return json.RawMessage(o).MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (o *Object) UnmarshalJSON(b []byte) error { return (*json.RawMessage)(o).UnmarshalJSON(b) }

// Schema implements huma.SchemaProvider.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// utc is a time of the database without the zone of this machine (S6).
func utc(t time.Time) time.Time { return t.UTC() }

func utcOr(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// millis is the time between two instants in milliseconds; nil when one of them is not known.
func millis(from, to *time.Time) *int64 {
	if from == nil || to == nil {
		return nil
	}
	ms := max(to.Sub(*from), 0).Milliseconds()
	return &ms
}
