package catalog

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/touchstone/reference/compose"
)

// rootName is what a body that is one value is called.
const rootName = "body"

// bodyType says what a media type can be written from.
type bodyType int

const (
	jsonBody bodyType = iota
	formBody
	multipartBody
	textBody
	fileBody
)

func bodyTypeOf(mediaType string) bodyType {
	media, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	switch media = strings.TrimSpace(media); {
	case media == "application/json", media == "text/json", strings.HasSuffix(media, "+json"):
		return jsonBody
	case media == "application/x-www-form-urlencoded":
		return formBody
	case media == "multipart/form-data":
		return multipartBody
	case strings.HasPrefix(media, "text/"):
		return textBody
	}
	return fileBody
}

// body adds the request body: JSON where the operation takes it, else the first
// media type of the document.
func (b *builder) body(body *openapi3.RequestBody) {
	types := inOrder(body.Content, mediaOrigin)
	if len(types) == 0 {
		return
	}
	chosen := types[0]
	for _, preferred := range []func(string) bool{
		func(t string) bool { return t == "application/json" },
		func(t string) bool { return bodyTypeOf(t) == jsonBody },
	} {
		if i := slices.IndexFunc(types, preferred); i >= 0 {
			chosen = types[i]
			break
		}
	}
	media, kind := body.Content[chosen], bodyTypeOf(chosen)
	b.template.ContentType = concrete(chosen, kind)
	var err error
	switch kind {
	case jsonBody:
		b.jsonBody(body, media)
	case formBody, multipartBody:
		err = b.formBody(body, media, kind == multipartBody)
	case textBody:
		text := openapi3.NewStringSchema().NewRef()
		if k := kinds(media.Schema); len(k) == 1 && k[0] == openapi3.TypeString {
			text = media.Schema
		}
		b.rootBody(body, b.schema.inline(text, schemaHints{description: body.Description}))
	case fileBody:
		b.rootBody(body, b.fileSchema(body.Description))
	}
	if err != nil {
		b.template.ContentType = ""
		b.cannot(body.Required, "body as %s: %v", chosen, err)
	}
}

// concrete gives a media type to send in the place of a range of them.
func concrete(mediaType string, kind bodyType) string {
	switch {
	case !strings.Contains(mediaType, "*"):
		return mediaType
	case kind == jsonBody:
		return "application/json"
	case kind == textBody:
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// jsonBody spreads the properties of an object into arguments. Any other value,
// and an object of which no property is known, is one argument.
func (b *builder) jsonBody(body *openapi3.RequestBody, media *openapi3.MediaType) {
	m, ok := membersOf(media.Schema)
	if !ok || len(m.properties) == 0 {
		b.rootBody(body, b.schema.inline(media.Schema, schemaHints{description: body.Description}))
		return
	}
	b.template.Body = &compose.Body{}
	for _, p := range m.properties {
		b.property(p, b.schema.inline(p.schema, schemaHints{}))
	}
	if m.additional != nil {
		b.template.Body.AdditionalProperties = true
		b.open = b.schema.keyword(m.additional)
	}
}

// property adds a property of the body.
func (b *builder) property(p property, schema []byte) {
	b.template.Body.Properties = append(b.template.Body.Properties, p.name)
	as, fill := b.name(InBody, p.name)
	if as != "" || fill != nil {
		b.template.Body.Curation = append(b.template.Body.Curation, compose.Curation{Name: p.name, As: as, Fill: fill})
	}
	if fill == nil {
		b.publish(cmp.Or(as, p.name), describe(p.schema), p.required, schema)
	}
}

// rootBody adds a body that is one argument.
func (b *builder) rootBody(body *openapi3.RequestBody, schema []byte) {
	as, fill := b.name(InBody, rootName)
	b.template.BodyRoot, b.template.RootFill = cmp.Or(as, rootName), fill
	if fill == nil {
		b.publish(b.template.BodyRoot, body.Description, body.Required, schema)
	}
}

// formBody spreads the fields of a form into arguments.
func (b *builder) formBody(body *openapi3.RequestBody, media *openapi3.MediaType, multipart bool) error {
	m, ok := membersOf(media.Schema)
	if !ok || len(m.properties) == 0 {
		return errors.New("its schema is not an object with declared properties")
	}
	b.template.Body, b.template.Form = &compose.Body{}, &compose.Form{}
	for _, p := range m.properties {
		field, err := formField(p, media.Encoding[p.name], multipart)
		if err != nil {
			b.cannot(body.Required && p.required, "form field %q: %v", p.name, err)
			continue
		}
		b.template.Form.Fields = append(b.template.Form.Fields, field)
		schema := b.schema.inline(p.schema, schemaHints{notNull: true})
		if field.Type == compose.TypeFile {
			schema = b.fileSchema(describe(p.schema))
			if field.Array {
				var list object
				list.text("type", openapi3.TypeArray)
				list.set("items", schema)
				schema = list.json()
			}
		}
		b.property(p, schema)
	}
	return nil
}

// formField gives the field of a form. Only a multipart form has files.
func formField(p property, encoding *openapi3.Encoding, multipart bool) (compose.Field, error) {
	contentType := ""
	if encoding != nil && !strings.Contains(encoding.ContentType, ",") {
		contentType = encoding.ContentType
	}
	if multipart {
		file, array := p.schema, false
		if k := kinds(p.schema); len(k) == 1 && k[0] == openapi3.TypeArray {
			file, array = itemsOf(p.schema, maxComposition), true
		}
		if isFile(file, contentType) {
			return compose.Field{Name: p.name, Type: compose.TypeFile, Array: array, MediaType: cmp.Or(contentType, file.Value.ContentMediaType)}, nil
		}
	}
	return fieldOf(p.name, p.schema)
}

// isFile tells the schemas of binary content: format binary (OpenAPI 3.0), a
// media type without a text encoding (3.1), or nothing but a media type.
func isFile(ref *openapi3.SchemaRef, contentType string) bool {
	s := valueOf(ref)
	if s == nil {
		return false
	}
	binary := func(mediaType string) bool {
		kind := bodyTypeOf(mediaType)
		return mediaType != "" && kind != jsonBody && kind != textBody
	}
	switch k := kinds(ref); {
	case k == nil:
		return s.Format == "binary" || binary(cmp.Or(s.ContentMediaType, contentType))
	case len(k) == 1 && k[0] == openapi3.TypeString:
		return s.Format == "binary" || s.ContentEncoding == "" && binary(s.ContentMediaType)
	}
	return false
}

// fileSchema is what agents are told of a file argument.
func (b *builder) fileSchema(description string) []byte {
	about := map[string]string{
		compose.SourceText:   "Content as text.",
		compose.SourceBase64: "Content in padded base64.",
		compose.SourceRef:    "Name of a file that the host knows.",
	}
	sources := b.template.FileSources
	if len(sources) == 0 {
		sources = []string{compose.SourceText, compose.SourceBase64}
	}
	describedString := func(description string) []byte {
		var o object
		o.text("type", openapi3.TypeString)
		o.text("description", description)
		return o.json()
	}
	var properties, schema object
	var alternatives []map[string][]string
	for _, source := range sources {
		properties.set(source, describedString(about[source]))
		alternatives = append(alternatives, map[string][]string{"required": {source}})
	}
	properties.set("name", describedString("Name of the file."))
	properties.set("mediaType", describedString("Media type of the content."))
	schema.text("type", openapi3.TypeObject)
	schema.text("description", description)
	schema.set("properties", properties.json())
	schema.set("oneOf", plain(alternatives))
	schema.set("additionalProperties", []byte("false"))
	return schema.json()
}
