package compose

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// bodyKind is how a media type is written.
type bodyKind int

const (
	bodyJSON bodyKind = iota
	bodyURLEncoded
	bodyMultipart
	bodyText
	bodyFile
)

// mediaTypeOf drops the parameters of a Content-Type.
func mediaTypeOf(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

func bodyKindOf(contentType string) bodyKind {
	switch media := mediaTypeOf(contentType); {
	case media == "", media == "application/json", media == "text/json", strings.HasSuffix(media, "+json"):
		return bodyJSON
	case media == "application/x-www-form-urlencoded":
		return bodyURLEncoded
	case media == "multipart/form-data":
		return bodyMultipart
	case strings.HasPrefix(media, "text/"):
		return bodyText
	default:
		return bodyFile
	}
}

// body writes the body, if the operation has one and it is not left out. A
// body of fields is always there, empty when none of them was sent; a body
// that is one argument comes and goes with that argument.
func (c *composition) body(r *Request) error {
	t := c.template
	if t.Body == nil && t.BodyRoot == "" {
		return nil
	}
	var (
		ok  bool
		err error
	)
	switch kind := bodyKindOf(t.ContentType); {
	case kind == bodyJSON && t.BodyRoot != "":
		var v gjson.Result
		v, ok, err = c.value(t.root())
		if ok {
			r.BodyJSON = json.RawMessage(v.Raw)
		}
	case kind == bodyJSON:
		ok = true
		r.BodyJSON, err = c.jsonFields()
	case kind == bodyURLEncoded, kind == bodyMultipart:
		ok, err = c.formBody(r, kind)
	case t.BodyRoot == "":
		return misconfigured()
	default:
		ok, err = c.rootContent(r, kind)
	}
	if ok {
		r.ContentType = t.ContentType
	}
	return err
}

// jsonFields is an object of the declared properties and, behind them, the
// additional ones in the order they were sent. Values keep their source text.
func (c *composition) jsonFields() (json.RawMessage, error) {
	out := []byte{'{'}
	write := func(name string, v gjson.Result) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = gjson.AppendJSONString(out, name)
		out = append(out, ':')
		out = append(out, v.Raw...)
	}
	for _, name := range c.template.Body.Properties {
		v, ok, err := c.value(c.template.Body.property(name))
		if err != nil {
			return nil, err
		}
		if ok {
			write(name, v)
		}
	}
	if c.template.open() {
		declared := c.template.Arguments()
		for _, name := range c.args.names {
			if !slices.Contains(declared, name) {
				write(name, c.args.values[name])
			}
		}
	}
	return append(out, '}'), nil
}

// rootContent writes a body of text or of one file.
func (c *composition) rootContent(r *Request, kind bodyKind) (bool, error) {
	root := c.template.root()
	v, ok, err := c.writtenValue(root)
	if err != nil || !ok {
		return false, err
	}
	if kind == bodyText {
		text, err := scalar(TypeString, v, root.wire)
		r.BodyText = &text
		return true, conceal(root.fill, err)
	}
	r.BodyFile, err = c.file(v, root.wire, root.wire, c.template.ContentType, root.fill)
	return true, conceal(root.fill, err)
}

// formValue is the value of one field of a form.
type formValue struct {
	field *Field
	value gjson.Result
	label string
	fill  *Fill
}

// formValues are the values of a form in declaration order, from top-level
// arguments or from the members of the root argument. It reports whether there
// is a form to write.
func (c *composition) formValues() ([]formValue, bool, error) {
	t := c.template
	if t.Form == nil {
		return nil, false, misconfigured()
	}
	var list []formValue
	if t.BodyRoot == "" {
		for i := range t.Form.Fields {
			field := &t.Form.Fields[i]
			s := t.Body.property(field.Name)
			v, ok, err := c.writtenValue(s)
			if err != nil {
				return nil, false, err
			}
			if ok {
				list = append(list, formValue{field, v, s.agentName(), s.fill})
			}
		}
		return list, true, nil
	}
	root := t.root()
	v, ok, err := c.writtenValue(root)
	if err != nil || !ok {
		return nil, false, err
	}
	members, err := declaredMembers(v, t.Form.Fields, root.wire)
	if err != nil {
		return nil, false, conceal(root.fill, err)
	}
	for i := range t.Form.Fields {
		field := &t.Form.Fields[i]
		if v, ok := members.values[field.Name]; ok {
			list = append(list, formValue{field, v, root.wire + "." + field.Name, root.fill})
		}
	}
	return list, true, nil
}

// formBody writes a form, urlencoded or as the parts of a multipart body.
// Names and values of parts are not percent-encoded (RFC 7578, 2).
func (c *composition) formBody(r *Request, kind bodyKind) (bool, error) {
	encode := Escape
	if kind == bodyMultipart {
		encode = func(s string) string { return s }
	}
	values, ok, err := c.formValues()
	if err != nil || !ok {
		return false, err
	}
	parts := []Part{}
	for _, fv := range values {
		more, err := c.formParts(fv, encode)
		if err != nil {
			return false, conceal(fv.fill, err)
		}
		parts = append(parts, more...)
	}
	if kind == bodyMultipart {
		r.BodyParts = parts
		return true, nil
	}
	form := strings.Join(joinPairs(parts), "&")
	r.BodyForm = &form
	return true, nil
}

// formParts writes one value of a form.
func (c *composition) formParts(fv formValue, encode func(string) string) ([]Part, error) {
	field := fv.field
	if field.Type != TypeFile {
		return flatten(field, fv.value, fv.label, c.template.Form.Notation, encode)
	}
	files := []gjson.Result{fv.value}
	if field.Array {
		var err error
		if files, err = elementsOf(fv.value, fv.label); err != nil {
			return nil, err
		}
	}
	var parts []Part
	for _, v := range files {
		f, err := c.file(v, fv.label, field.Name, field.MediaType, fv.fill)
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{Name: field.Name, File: f})
	}
	return parts, nil
}
