package catalog

import (
	"errors"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/touchstone/reference/compose"
)

// maxComposition bounds how deep allOf, anyOf and oneOf are followed: a document
// may be recursive.
const maxComposition = 16

func valueOf(ref *openapi3.SchemaRef) *openapi3.Schema {
	if ref == nil {
		return nil
	}
	return ref.Value
}

// kinds gives the types that a value may have, without null. Nil is any type.
func kinds(ref *openapi3.SchemaRef) []string { return kindsTo(ref, maxComposition) }

func kindsTo(ref *openapi3.SchemaRef, depth int) []string {
	s := valueOf(ref)
	if s == nil || depth == 0 {
		return nil
	}
	if !s.Type.IsEmpty() {
		return slices.DeleteFunc(s.Type.Clone(), func(t string) bool { return t == openapi3.TypeNull })
	}
	for _, part := range s.AllOf {
		if list := kindsTo(part, depth-1); list != nil {
			return list
		}
	}
	union := []string{}
	for _, alternative := range slices.Concat(s.AnyOf, s.OneOf) {
		list := kindsTo(alternative, depth-1)
		if list == nil {
			return nil
		}
		union = append(union, list...)
	}
	values := s.Enum
	if s.Const != nil {
		values = []any{s.Const}
	}
	for _, v := range values {
		switch v.(type) {
		case nil:
		case string:
			union = append(union, openapi3.TypeString)
		case bool:
			union = append(union, openapi3.TypeBoolean)
		case float64, int, int64, uint64:
			union = append(union, openapi3.TypeNumber)
		default:
			return nil
		}
	}
	switch {
	case len(s.Properties) > 0 || s.AdditionalProperties.Schema != nil:
		union = append(union, openapi3.TypeObject)
	case s.Items != nil:
		union = append(union, openapi3.TypeArray)
	}
	if len(union) == 0 && len(s.AnyOf)+len(s.OneOf)+len(values) == 0 {
		return nil
	}
	slices.Sort(union)
	return slices.Compact(union)
}

// scalarOf gives the type of a field that takes the scalars among the kinds,
// "" for several, and reports whether there are any.
func scalarOf(kinds []string) (typ string, ok bool) {
	if kinds == nil {
		return "", true
	}
	scalars := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool {
		return k == openapi3.TypeArray || k == openapi3.TypeObject
	})
	switch {
	case len(scalars) == 0:
		return "", false
	case len(scalars) == 1:
		return scalars[0], true
	case len(scalars) == 2 && slices.Contains(scalars, openapi3.TypeInteger) && slices.Contains(scalars, openapi3.TypeNumber):
		return compose.TypeNumber, true
	}
	return "", true
}

// fieldOf gives the field that a schema describes. Where a scalar would do, it
// takes scalars only.
func fieldOf(name string, ref *openapi3.SchemaRef) (compose.Field, error) {
	list := kinds(ref)
	if typ, ok := scalarOf(list); ok {
		return compose.Field{Name: name, Type: typ}, nil
	}
	switch {
	case slices.Contains(list, openapi3.TypeArray):
		typ, ok := scalarOf(kinds(itemsOf(ref, maxComposition)))
		if !ok {
			return compose.Field{}, errors.New("an array of arrays or objects cannot be written")
		}
		return compose.Field{Name: name, Type: typ, Array: true}, nil
	case slices.Contains(list, openapi3.TypeObject):
		return objectField(name, ref)
	}
	return compose.Field{}, errors.New("its schema allows no value")
}

// objectField is an object of scalars and arrays of scalars.
func objectField(name string, ref *openapi3.SchemaRef) (compose.Field, error) {
	o, ok := membersOf(ref)
	if !ok || len(o.properties) == 0 {
		return compose.Field{}, errors.New("an object without declared properties cannot be written")
	}
	field := compose.Field{Name: name, Type: compose.TypeObject}
	for _, p := range o.properties {
		member, err := fieldOf(p.name, p.schema)
		if err == nil && member.Type == compose.TypeObject {
			err = errors.New("an object in an object cannot be written")
		}
		if err != nil {
			return compose.Field{}, err
		}
		field.Members = append(field.Members, member)
	}
	return field, nil
}

func itemsOf(ref *openapi3.SchemaRef, depth int) *openapi3.SchemaRef {
	s := valueOf(ref)
	if s == nil || depth == 0 {
		return nil
	}
	if s.Items != nil {
		return s.Items
	}
	for _, part := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		if items := itemsOf(part, depth-1); items != nil {
			return items
		}
	}
	return nil
}

// members are the properties of an object in order, those of allOf among them.
type members struct {
	properties []property
	// additional is the schema of others, nil where they are not declared.
	additional *openapi3.BoolSchema
	required   []string
}

type property struct {
	name     string
	schema   *openapi3.SchemaRef
	required bool
}

// membersOf reports false for what is not an object, and for an object that has
// alternatives: which properties it has is then not certain.
func membersOf(ref *openapi3.SchemaRef) (members, bool) {
	var m members
	if list := kinds(ref); len(list) != 1 || list[0] != openapi3.TypeObject {
		return m, false
	}
	if !m.collect(ref, maxComposition) {
		return m, false
	}
	for _, name := range m.required {
		if i := m.find(name); i >= 0 {
			m.properties[i].required = true
		}
	}
	// An answer's properties are not sent.
	m.properties = slices.DeleteFunc(m.properties, func(p property) bool { return readOnly(p.schema) })
	return m, true
}

func (m *members) collect(ref *openapi3.SchemaRef, depth int) bool {
	s := valueOf(ref)
	if s == nil || depth == 0 || len(s.OneOf)+len(s.AnyOf) > 0 || s.If != nil {
		return false
	}
	for _, part := range s.AllOf {
		if !m.collect(part, depth-1) {
			return false
		}
	}
	for _, name := range inOrder(s.Properties, func(ref *openapi3.SchemaRef) *openapi3.Origin { return ref.Origin }) {
		p := property{name: name, schema: s.Properties[name]}
		if i := m.find(name); i >= 0 {
			m.properties[i] = p
		} else {
			m.properties = append(m.properties, p)
		}
	}
	m.required = append(m.required, s.Required...)
	if a := s.AdditionalProperties; a.Schema != nil || a.Has != nil && *a.Has {
		m.additional = &a
	}
	return true
}

func (m *members) find(name string) int {
	return slices.IndexFunc(m.properties, func(p property) bool { return p.name == name })
}
