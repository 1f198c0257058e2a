package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/tidwall/gjson"
)

// object is a JSON object in the making, its members in the order they were set.
type object []byte

// set adds a member. Without a value nothing is added.
func (o *object) set(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	if len(*o) > 0 {
		*o = append(*o, ',')
	}
	*o = gjson.AppendJSONString(*o, name)
	*o = append(*o, ':')
	*o = append(*o, value...)
}

// text adds a string that is not empty.
func (o *object) text(name, value string) {
	if value != "" {
		o.set(name, gjson.AppendJSONString(nil, value))
	}
}

func (o object) json() json.RawMessage { return append(append([]byte{'{'}, o...), '}') }

// plain writes a value of an OpenAPI document; one that JSON does not have is nothing.
func plain(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}

// inputSchema is the schema of the arguments of an operation.
func (b *builder) inputSchema() json.RawMessage {
	var properties, schema object
	required := []string{}
	for _, p := range b.published {
		properties.set(p.name, p.schema)
		if p.required {
			required = append(required, p.name)
		}
	}
	schema.text("type", openapi3.TypeObject)
	schema.set("properties", properties.json())
	if len(required) > 0 {
		schema.set("required", plain(required))
	}
	if b.open == nil {
		b.open = json.RawMessage("false")
	}
	schema.set("additionalProperties", b.open)
	if defs := b.schema.definitions(); len(defs) > 0 {
		schema.set("$defs", defs.json())
	}
	return schema.json()
}

// notForAgents are the keywords of OpenAPI schemas that say nothing about a
// value an agent may send, or that JSON Schema does not have.
var notForAgents = []string{
	"example", "examples", "xml", "externalDocs", "discriminator", "nullable", "readOnly", "writeOnly",
	"allowEmptyValue", "deprecated", "$id", "$anchor", "$schema", "$comment", "$defs", "$dynamicRef", "$dynamicAnchor",
}

// schemaWriter writes OpenAPI schemas as JSON Schema (draft 2020-12), in the
// order of the document. A schema that others refer to is written once, as one
// of the definitions: a document may be recursive.
type schemaWriter struct {
	names   map[*openapi3.Schema]string
	used    map[string]bool
	order   []string
	written map[string]json.RawMessage
}

func (w *schemaWriter) definitions() object {
	var o object
	for _, name := range w.order {
		o.set(name, w.written[name])
	}
	return o
}

// schemaHints are what the place of a schema adds to it.
type schemaHints struct {
	description string // takes the place of the schema's own
	notNull     bool   // a parameter has no null
}

// inline writes the schema of an argument.
func (w *schemaWriter) inline(ref *openapi3.SchemaRef, hints schemaHints) json.RawMessage {
	if ref == nil || ref.Value == nil {
		var o object
		o.text("description", hints.description)
		return o.json()
	}
	return w.schema(ref.Value, hints)
}

// nested writes a schema inside another one.
func (w *schemaWriter) nested(ref *openapi3.SchemaRef) json.RawMessage {
	if ref == nil || ref.Value == nil || ref.Ref == "" {
		return w.inline(ref, schemaHints{})
	}
	name, known := w.names[ref.Value]
	if !known {
		if w.names == nil {
			w.names, w.used, w.written = map[*openapi3.Schema]string{}, map[string]bool{}, map[string]json.RawMessage{}
		}
		name = unique(ref.Ref[strings.LastIndexByte(ref.Ref, '/')+1:], w.used)
		w.names[ref.Value] = name
		w.order = append(w.order, name)
		w.written[name] = w.schema(ref.Value, schemaHints{})
	}
	var o object
	o.text("$ref", "#/$defs/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	return o.json()
}

func (w *schemaWriter) schema(s *openapi3.Schema, hints schemaHints) json.RawMessage {
	all, err := s.MarshalYAML()
	if err != nil {
		return json.RawMessage("{}")
	}
	keywords, ok := all.(map[string]any)
	if !ok { // the schema true or false
		return plain(all)
	}
	if hints.description != "" {
		keywords["description"] = hints.description
	}
	exclusive(keywords, "minimum", "exclusiveMinimum", s.Min, s.ExclusiveMin)
	exclusive(keywords, "maximum", "exclusiveMaximum", s.Max, s.ExclusiveMax)
	if s.Nullable && !hints.notNull && s.Type.IsSingle() {
		keywords["type"] = &openapi3.Types{s.Type.Slice()[0], openapi3.TypeNull}
	}
	if hints.notNull && s.Type.IsMultiple() {
		types := openapi3.Types(slices.DeleteFunc(s.Type.Clone(), func(t string) bool { return t == openapi3.TypeNull }))
		keywords["type"] = &types
	}
	keywords["required"] = sendable(s)

	var o object
	for _, name := range keywordOrder(s, keywords) {
		if !slices.Contains(notForAgents, name) && !strings.HasPrefix(name, "x-") {
			o.set(name, w.keyword(keywords[name]))
		}
	}
	return o.json()
}

// exclusive writes a bound of OpenAPI 3.0, where true makes another keyword
// exclusive, as JSON Schema does.
func exclusive(keywords map[string]any, inclusiveName, exclusiveName string, bound *float64, e openapi3.ExclusiveBound) {
	if e.Bool == nil {
		return
	}
	delete(keywords, exclusiveName)
	if *e.Bool && bound != nil {
		keywords[exclusiveName] = *bound
		delete(keywords, inclusiveName)
	}
}

// sendable are the required properties but those that only answers have.
func sendable(s *openapi3.Schema) []string {
	return slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return readOnly(s.Properties[name]) })
}

func readOnly(ref *openapi3.SchemaRef) bool {
	return ref != nil && ref.Value != nil && ref.Value.ReadOnly
}

// keywordOrder is the order of the document. What was not in it comes first, in
// the order of the alphabet.
func keywordOrder(s *openapi3.Schema, keywords map[string]any) []string {
	var order []string
	if s.Origin != nil {
		for _, field := range s.Origin.Fields {
			if _, ok := keywords[field.Name]; ok && !slices.Contains(order, field.Name) {
				order = append(order, field.Name)
			}
		}
	}
	var added []string
	for name := range keywords {
		if !slices.Contains(order, name) {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	return append(added, order...)
}

// keyword writes the value of a keyword.
func (w *schemaWriter) keyword(v any) []byte {
	switch v := v.(type) {
	case *openapi3.SchemaRef:
		return w.nested(v)
	case openapi3.SchemaRefs:
		list := []byte{'['}
		for i, ref := range v {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, w.nested(ref)...)
		}
		return append(list, ']')
	case openapi3.Schemas:
		var o object
		for _, name := range inOrder(v, func(ref *openapi3.SchemaRef) *openapi3.Origin { return ref.Origin }) {
			if !readOnly(v[name]) {
				o.set(name, w.nested(v[name]))
			}
		}
		return o.json()
	case *openapi3.BoolSchema:
		if v.Schema != nil {
			return w.nested(v.Schema)
		}
		return plain(v.Has)
	case []string:
		if len(v) == 0 {
			return nil
		}
	}
	return plain(v)
}
