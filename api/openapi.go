package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// OpenAPI writes the OpenAPI document of the API, indented. The same code gives the same bytes.
func (a *API) OpenAPI() ([]byte, error) {
	document := *a.huma.OpenAPI()
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} { // huma's own errors, which answers never hold
		delete(document.Components.Schemas.Map(), unused)
	}
	info := *document.Info
	info.Version = "1"
	document.Info = &info
	text, err := json.Marshal(&document)
	if err != nil {
		return nil, fmt.Errorf("write OpenAPI document: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return nil, fmt.Errorf("write OpenAPI document: %w", err)
	}
	return append(indented.Bytes(), '\n'), nil
}

// describeErrors documents that an operation answers with a Problem when it fails.
func (a *API) describeErrors(op *huma.Operation) {
	schemas := a.huma.OpenAPI().Components.Schemas
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = &huma.Response{Description: "A problem.", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")},
	}}
}
