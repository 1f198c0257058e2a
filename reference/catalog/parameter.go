package catalog

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/touchstone/reference/compose"
)

// ignoredHeaders are header parameters that OpenAPI says to ignore: the rest of
// the document describes them.
var ignoredHeaders = []string{"accept", "content-type", "authorization"}

// parameterShape is one parameter of a template with what agents are told of it.
type parameterShape struct {
	parameter   compose.Parameter
	description string
	schema      *openapi3.SchemaRef
	required    bool
}

// parameter adds a parameter of the document.
func (b *builder) parameter(p *openapi3.Parameter) {
	if p.In == compose.InHeader && slices.Contains(ignoredHeaders, strings.ToLower(p.Name)) {
		return
	}
	required := p.Required || p.In == compose.InPath
	shapes, err := b.shapes(p)
	if err != nil {
		b.cannot(required, "%s parameter %q: %v", p.In, p.Name, err)
		return
	}
	for _, s := range shapes {
		s.parameter.As, s.parameter.Fill = b.name(p.In, s.parameter.Name)
		b.template.Parameters = append(b.template.Parameters, s.parameter)
		if s.parameter.Fill != nil {
			continue
		}
		b.publish(cmp.Or(s.parameter.As, s.parameter.Name), s.description, s.required,
			b.schema.inline(s.schema, schemaHints{description: s.description, notNull: true}))
	}
}

func describe(ref *openapi3.SchemaRef) string {
	if s := valueOf(ref); s != nil {
		return s.Description
	}
	return ""
}

// shapes gives the parameters that a parameter of the document becomes: one,
// but for an object whose members are parameters of their own on the wire.
func (b *builder) shapes(p *openapi3.Parameter) ([]parameterShape, error) {
	one := parameterShape{
		parameter:   compose.Parameter{In: p.In, Explode: p.Explode},
		description: cmp.Or(p.Description, describe(p.Schema)),
		schema:      p.Schema,
		required:    p.Required || p.In == compose.InPath,
	}
	if p.Schema == nil && len(p.Content) > 0 {
		// The value is a document, and so text for the agent to write.
		one.parameter.Field = compose.Field{Name: p.Name, Type: compose.TypeString}
		one.schema = openapi3.NewStringSchema().NewRef()
		one.schema.Value.ContentMediaType = inOrder(p.Content, mediaOrigin)[0]
		return []parameterShape{one}, nil
	}
	field, err := fieldOf(p.Name, p.Schema)
	if err != nil {
		return nil, err
	}
	one.parameter.Field = field
	object := field.Type == compose.TypeObject
	switch {
	case object && p.In == compose.InQuery && p.Style == compose.StyleDeepObject:
		one.parameter.Style, one.parameter.Explode = compose.StyleDeepObject, nil
	case object && p.In == compose.InQuery && (p.Style == "" || p.Style == compose.StyleForm) && (p.Explode == nil || *p.Explode):
		return exploded(p, field)
	case object:
		return nil, errors.New("an object cannot be written there in its style")
	case p.In == compose.InPath:
		one.parameter.Explode = nil
		return []parameterShape{one}, b.pathStyle(p, field)
	case p.In == compose.InQuery && field.Array && p.Style == compose.StyleDeepObject:
		return nil, errors.New("the style deepObject is for objects")
	case p.In == compose.InQuery && field.Array:
		one.parameter.Style = p.Style
	default:
		// A single value is written in one way by all styles.
		one.parameter.Explode = nil
		if p.In == compose.InCookie && p.Style == compose.StyleCookie {
			one.parameter.Style = compose.StyleCookie
		}
	}
	return []parameterShape{one}, nil
}

func mediaOrigin(m *openapi3.MediaType) *openapi3.Origin { return m.Origin }

// exploded gives the members of an object in the form style: on the wire they
// are parameters of their own.
func exploded(p *openapi3.Parameter, field compose.Field) ([]parameterShape, error) {
	m, _ := membersOf(p.Schema)
	var list []parameterShape
	for i, member := range field.Members {
		list = append(list, parameterShape{
			parameter:   compose.Parameter{Field: member, In: p.In},
			description: cmp.Or(describe(m.properties[i].schema), p.Description),
			schema:      m.properties[i].schema,
			required:    p.Required && m.properties[i].required,
		})
	}
	return list, nil
}

// pathStyle writes what the styles label and matrix put before a value into the
// route.
func (b *builder) pathStyle(p *openapi3.Parameter, field compose.Field) error {
	prefix := ""
	switch p.Style {
	case "", openapi3.SerializationSimple:
		return nil
	case openapi3.SerializationLabel:
		prefix = "."
	case openapi3.SerializationMatrix:
		prefix = ";" + compose.Escape(p.Name) + "="
	default:
		return errors.New("the style " + p.Style + " is not for paths")
	}
	if field.Array && p.Explode != nil && *p.Explode {
		return errors.New("an exploded array cannot be written in the style " + p.Style)
	}
	placeholder := "{" + p.Name + "}"
	b.template.Route = strings.ReplaceAll(b.template.Route, placeholder, prefix+placeholder)
	return nil
}
