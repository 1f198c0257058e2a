package mockbackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"golang.org/x/net/http/httpguts"

	"example.com/touchstone/schemas"
)

// templateData is what a template can say of the request; there is nothing else
// that it could reach.
type templateData struct {
	// Method and Target are the request line.
	Method, Target string
	// Path has the segments that the pattern of the stub names.
	Path map[string]string
	// Body is the body as text.
	Body string
	// Count says the how-manyeth answer of its stub this is, from 1.
	Count int64
	q     *request
}

// Query gives the first value of a query parameter, "" without one.
func (d templateData) Query(name string) string { return d.q.queryValues().Get(name) }

// Header gives the first value of a header, "" without one.
func (d templateData) Header(name string) string {
	if values := headerValues(d.q, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Cookie gives the value of a cookie, without quotes around it, "" without one.
func (d templateData) Cookie(name string) string {
	if values := d.q.cookieValues(name); len(values) > 0 {
		return unquoted(values[0])
	}
	return ""
}

// JSON gives the body, decoded: a whole number that fits as int64, any other as
// it came, such as 1.50, for which the function number is there.
func (d templateData) JSON() (any, error) {
	v, err := d.q.bodyJSON()
	if err == nil && d.q.integers == nil {
		d.q.integers = withIntegers(v) // once: a range may ask for it each time
	}
	return d.q.integers, err
}

// withIntegers gives a decoded JSON value with whole numbers that a template can
// compare, and that are false where they are 0.
func withIntegers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		other := make(map[string]any, len(v))
		for name, member := range v {
			other[name] = withIntegers(member)
		}
		return other
	case []any:
		other := make([]any, len(v))
		for i, item := range v {
			other[i] = withIntegers(item)
		}
		return other
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	}
	return v
}

// requestFields are what a template can ask of the request.
var requestFields = []string{"Method", "Target", "Path", "Query", "Header", "Cookie", "JSON", "Body", "Count"}

// maxSteps bounds how often the ranges of one answer go round.
const maxSteps = 100_000

var templateFuncs = template.FuncMap{
	// number gives a number, or a text that is one, for comparisons with others
	// that have a point.
	"number": func(v any) (float64, error) { return strconv.ParseFloat(fmt.Sprint(v), 64) },
	// step is put into each range: what a client sends decides how often that
	// goes round, and a template cannot be stopped from outside.
	"step": func(d templateData) (string, error) {
		if d.q.steps++; d.q.steps > maxSteps {
			return "", fmt.Errorf("its ranges go round more than %d times", maxSteps)
		}
		return "", d.q.Context().Err()
	},
	// json writes a value as JSON, for bodies that are text.
	"json": func(v any) (string, error) {
		text, err := json.Marshal(v)
		return string(text), err
	},
}

// stepNode calls step, as {{step $}} does.
var stepNode = template.Must(template.New("").Funcs(templateFuncs).Parse("{{step $}}")).Root.Nodes[0]

// maxRendered bounds what a template may make of a request.
const maxRendered = 16 << 20

// A replyTemplate makes replies out of one: body and header values whose text
// has actions of text/template.
type replyTemplate struct {
	body    []templatePart
	headers []*template.Template // nil: the value is as it is
}

// A templatePart is a piece of a body, fixed or made.
type templatePart struct {
	text   []byte
	make   *template.Template
	quoted bool // made is a JSON string
}

// compileTemplate parses the actions of a response. names are the segments that
// the path of its stub names, at is its JSON Pointer.
func (r *reply) compileTemplate(in schemas.StubResponse, names []string, at string) error {
	t := &replyTemplate{headers: make([]*template.Template, len(r.headers))}
	var err error
	for i, h := range r.headers {
		if t.headers[i], err = parseTemplate(h.Value, names); err != nil {
			return invalid(fmt.Sprintf("%s/headers/%d", at, i), "%w", err)
		}
	}
	switch {
	case in.JSON != nil:
		if t.body, err = parseJSONTemplate(in.JSON, names); err != nil {
			return invalid(at+"/json", "%w", err)
		}
	case len(r.body) > 0:
		made, err := parseTemplate(string(r.body), names)
		if err != nil {
			return invalid(at, "has a body that %w", err)
		}
		t.body = []templatePart{{text: r.body, make: made}}
	}
	r.template = t
	return nil
}

// parseTemplate gives nil for a text without actions.
func parseTemplate(text string, names []string) (*template.Template, error) {
	if !strings.Contains(text, "{{") {
		return nil, nil
	}
	t, err := template.New("stub").Option("missingkey=error").Funcs(templateFuncs).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("is not a template: %w", err)
	}
	if len(t.Templates()) > 1 {
		return nil, errors.New("is a template that defines others, which is not possible here")
	}
	if t.Tree == nil { // nothing but comments
		return t, nil
	}
	if err := checkNode(t.Root, names, true); err != nil {
		return nil, err
	}
	return t, nil
}

// checkNode looks for what the request does not have, such as segments that the
// path does not name, and makes ranges count. outside tells that the dot is the
// request.
func checkNode(node parse.Node, names []string, outside bool) error {
	list := func(nodes ...parse.Node) error {
		for _, n := range nodes {
			if err := checkNode(n, names, outside); err != nil {
				return err
			}
		}
		return nil
	}
	branch := func(b *parse.BranchNode, outside bool) error {
		return errors.Join(list(b.Pipe), checkNode(b.List, names, outside), checkNode(b.ElseList, names, outside))
	}
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil { // of a branch without else
			return nil
		}
		return list(n.Nodes...)
	case *parse.ActionNode:
		return list(n.Pipe)
	case *parse.IfNode:
		return branch(&n.BranchNode, outside)
	case *parse.WithNode:
		return branch(&n.BranchNode, false)
	case *parse.RangeNode:
		err := branch(&n.BranchNode, false)
		n.List.Nodes = slices.Insert(n.List.Nodes, 0, stepNode) // before any {{continue}}
		return err
	case *parse.TemplateNode:
		return errors.New("is a template that calls others, which is not possible here")
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			if err := list(c.Args...); err != nil {
				return err
			}
		}
	case *parse.FieldNode:
		if outside {
			return checkField(n.Ident, names)
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return checkField(n.Ident[1:], names)
		}
	}
	return nil
}

func checkField(ident, names []string) error {
	if len(ident) > 0 && !slices.Contains(requestFields, ident[0]) {
		return fmt.Errorf("asks for .%s, which a request does not have; it has .%s", ident[0], strings.Join(requestFields, ", ."))
	}
	if len(ident) > 1 && ident[0] == "Path" && !slices.Contains(names, ident[1]) {
		return fmt.Errorf("asks for the segment %s, which the path does not name; it names [%s]", ident[1], strings.Join(names, " "))
	}
	return nil
}

// parseJSONTemplate takes actions in the strings of a JSON document alone, so
// that what they make cannot break it.
func parseJSONTemplate(doc []byte, names []string) ([]templatePart, error) {
	var parts []templatePart
	for len(doc) > 0 {
		start := bytes.IndexByte(doc, '"')
		if start < 0 {
			break
		}
		end := start + 1
		for ; doc[end] != '"'; end++ { // valid JSON: it is closed
			if doc[end] == '\\' {
				end++
			}
		}
		end++
		var text string
		if err := json.Unmarshal(doc[start:end], &text); err != nil {
			return nil, fmt.Errorf("reading a string of a JSON body: %w", err)
		}
		made, err := parseTemplate(text, names)
		if err != nil {
			return nil, fmt.Errorf("has the string %q, which %w", text, err)
		}
		if made == nil {
			parts = append(parts, templatePart{text: doc[:end]})
		} else {
			parts = append(parts, templatePart{text: doc[:start]}, templatePart{make: made, quoted: true})
		}
		doc = doc[end:]
	}
	return append(parts, templatePart{text: doc}), nil
}

// render makes the reply to a request. pattern is the path of its stub.
func (r *reply) render(q *request, pattern []segment, count int64) (*reply, error) {
	data := templateData{
		Method: q.Method, Target: q.target, Path: captures(pattern, q.path), Body: string(q.body), Count: count, q: q,
	}
	made := *r
	made.template, made.impolite = nil, nil
	made.headers = slices.Clone(r.headers)
	for i, t := range r.template.headers {
		if t == nil {
			continue
		}
		value := bounded{}
		if err := t.Execute(&value, data); err != nil {
			return nil, fmt.Errorf("the header %s: %w", r.headers[i].Name, err)
		}
		if !httpguts.ValidHeaderFieldValue(value.String()) {
			return nil, fmt.Errorf("the header %s would be %q, which is more than one line", r.headers[i].Name, value.String())
		}
		made.headers[i].Value = value.String()
	}
	body := bounded{}
	for _, part := range r.template.body {
		switch {
		case part.make == nil:
			body.Buffer.Write(part.text)
		case part.quoted:
			value := bounded{}
			if err := part.make.Execute(&value, data); err != nil {
				return nil, fmt.Errorf("the body: %w", err)
			}
			body.Buffer.Write(mustJSON(value.String()))
		default:
			if err := part.make.Execute(&body, data); err != nil {
				return nil, fmt.Errorf("the body: %w", err)
			}
		}
	}
	made.body = body.Bytes()
	made.prepare("")
	return &made, nil
}

// bounded is a buffer that takes maxRendered bytes.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxRendered {
		return 0, fmt.Errorf("it would have more than %d bytes", maxRendered)
	}
	return b.Buffer.Write(p)
}

// captures gives the segments of a path that a pattern names.
func captures(pattern []segment, path string) map[string]string {
	values := map[string]string{}
	rest := strings.TrimPrefix(path, "/")
	for _, s := range pattern {
		if s.kind == tailSegment {
			values[s.text] = plainSegment(rest)
			break
		}
		var first string
		first, rest, _ = strings.Cut(rest, "/")
		if s.kind == anySegment {
			values[s.text] = plainSegment(first)
		}
	}
	return values
}
