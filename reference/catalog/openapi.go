package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/touchstone/reference/compose"
)

// InBody is where a [Curation] finds the fields of a body, next to
// [compose.InPath] and the others.
const InBody = "body"

// Options are what a host decides about the operations of a document.
type Options struct {
	Curations []Curation
	// FileRefs publishes ref as a source of file arguments: only a host that
	// has bound a [compose.FileResolver] can take one.
	FileRefs bool
}

// Curation renames or hides one argument of one operation. One for an operation
// that the document does not have is ignored; one for an argument that its
// operation does not have is an error, since it may have been meant to hide it.
type Curation struct {
	Operation string
	// Argument is the name on the wire. A body that is one value is called "body".
	Argument string
	// In is where the argument is sent; "" is wherever one of that name is.
	In string
	// As is the name for agents.
	As string
	// Fill hides the argument from agents and supplies its value.
	Fill *compose.Fill
}

// FromOpenAPI reads the operations of an OpenAPI 3.x document, in JSON or YAML,
// in the order of the document. References to other documents are refused: they
// would be read with the rights of this process.
//
// The servers of the document are not used: where a backend is, is the host's
// to say. What a template cannot express does not fail the document: an optional
// argument is left out, and an operation that needs it is not invocable; both
// are in the operation's Diagnostics.
func FromOpenAPI(document []byte, options Options) ([]Operation, error) {
	loader := openapi3.NewLoader()
	loader.IncludeOrigin = true // the only trace of the order of properties
	doc, err := loader.LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.") {
		return nil, fmt.Errorf("reading the OpenAPI document: its version is %q, and 3.x is needed", doc.OpenAPI)
	}
	var (
		operations []Operation
		problems   []error
		used       = map[string]bool{}
	)
	for _, at := range operationsOf(doc) {
		name := unique(cmp.Or(at.operation.OperationID, deriveName(at.method, at.path)), used)
		b := newBuilder(name, at, options)
		b.build()
		operations = append(operations, b.op)
		problems = append(problems, b.misfits...)
	}
	return operations, errors.Join(problems...)
}

// located is an operation and where it stands.
type located struct {
	method, path string
	item         *openapi3.PathItem
	operation    *openapi3.Operation
}

func operationsOf(doc *openapi3.T) []located {
	var list []located
	paths := doc.Paths.Map()
	for _, path := range inOrder(paths, func(item *openapi3.PathItem) *openapi3.Origin { return item.Origin }) {
		operations := paths[path].Operations()
		for _, method := range inOrder(operations, func(op *openapi3.Operation) *openapi3.Origin { return op.Origin }) {
			list = append(list, located{method, path, paths[path], operations[method]})
		}
	}
	return list
}

// inOrder gives the keys of a map in the order of the document, as far as it is known.
func inOrder[T any](m map[string]*T, origin func(*T) *openapi3.Origin) []string {
	type key struct {
		name         string
		line, column int
	}
	keys := make([]key, 0, len(m))
	for name, value := range m {
		k := key{name: name}
		if value == nil {
			continue
		}
		if o := origin(value); o != nil && o.Key != nil {
			k.line, k.column = o.Key.Line, o.Key.Column
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), cmp.Compare(a.name, b.name))
	})
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}

// deriveName names an operation that has no operationId: GET /users/{id} is get_users_id.
func deriveName(method, path string) string {
	words := strings.FieldsFunc(path, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(append([]string{strings.ToLower(method)}, words...), "_")
}

// unique makes a name that is not in used, and puts it there.
func unique(name string, used map[string]bool) string {
	candidate := name
	for n := 2; used[candidate]; n++ {
		candidate = fmt.Sprintf("%s_%d", name, n)
	}
	used[candidate] = true
	return candidate
}

// builder makes one operation.
type builder struct {
	options  Options
	at       located
	op       Operation
	template compose.Template
	schema   schemaWriter

	taken     map[string]bool // names of arguments, hidden ones too
	curated   map[int]bool    // curations that found their argument
	published []publishedArgument
	open      json.RawMessage // schema of further arguments; nil for none
	obstacles []string        // that keep the operation from being invoked
	misfits   []error         // of the curations
}

// publishedArgument is an argument in the input schema.
type publishedArgument struct {
	name     string
	schema   json.RawMessage
	required bool
}

func newBuilder(name string, at located, options Options) *builder {
	b := &builder{options: options, at: at, taken: map[string]bool{}, curated: map[int]bool{}}
	b.op = Operation{
		Name: name, Method: at.method, Path: at.path,
		Summary:     cmp.Or(at.operation.Summary, firstLine(at.operation.Description)),
		Description: cmp.Or(at.operation.Description, at.operation.Summary),
	}
	b.template = compose.Template{Method: at.method, Route: at.path}
	if options.FileRefs {
		b.template.FileSources = []string{compose.SourceText, compose.SourceBase64, compose.SourceRef}
	}
	return b
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

func (b *builder) build() {
	for _, p := range b.parameters() {
		b.parameter(p)
	}
	if body := b.at.operation.RequestBody; body != nil && body.Value != nil {
		b.body(body.Value)
	}
	b.op.InputSchema = b.inputSchema()
	for i, c := range b.options.Curations {
		if c.Operation == b.op.Name && !b.curated[i] {
			b.misfits = append(b.misfits, fmt.Errorf("curating %s: it has no argument %q", c.Operation, c.Argument))
		}
	}
	if b.at.method == "CONNECT" {
		b.obstacles = append(b.obstacles, "the method CONNECT opens a tunnel instead of asking for a resource")
	}
	if len(b.obstacles) == 0 {
		if err := b.template.Validate(); err != nil {
			b.obstacles = append(b.obstacles, err.Error())
		}
	}
	if len(b.obstacles) == 0 {
		b.op.Template = &b.template
	}
	for _, obstacle := range b.obstacles {
		b.op.Diagnostics = append(b.op.Diagnostics, "not invocable: "+obstacle)
	}
}

// parameters are those of the path and of the operation; one of the operation
// takes the place of the path's own.
func (b *builder) parameters() []*openapi3.Parameter {
	var list []*openapi3.Parameter
	for _, group := range []openapi3.Parameters{b.at.item.Parameters, b.at.operation.Parameters} {
		for _, ref := range group {
			if ref == nil || ref.Value == nil {
				continue
			}
			same := func(p *openapi3.Parameter) bool { return p.In == ref.Value.In && p.Name == ref.Value.Name }
			if i := slices.IndexFunc(list, same); i >= 0 {
				list[i] = ref.Value
			} else {
				list = append(list, ref.Value)
			}
		}
	}
	return list
}

// cannot notes what a template cannot express: an obstacle if it is needed, else
// a diagnostic.
func (b *builder) cannot(required bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if required {
		b.obstacles = append(b.obstacles, text)
	} else {
		b.op.Diagnostics = append(b.op.Diagnostics, "left out: "+text)
	}
}

// name finds out what an argument is called, and whether a fill hides it. A name
// that is taken gets the place of the argument before it.
func (b *builder) name(in, wire string) (as string, fill *compose.Fill) {
	agent := wire
	for i, c := range b.options.Curations {
		if c.Operation != b.op.Name || c.Argument != wire || c.In != "" && c.In != in {
			continue
		}
		b.curated[i] = true
		fill = c.Fill
		if agent = cmp.Or(c.As, wire); c.As != "" && b.taken[c.As] {
			b.misfits = append(b.misfits, fmt.Errorf("curating %s: it has two arguments %q", c.Operation, c.As))
		}
	}
	if b.taken[agent] {
		agent = in + "_" + agent
	}
	if agent = unique(agent, b.taken); agent != wire {
		as = agent
	}
	return as, fill
}

// publish tells agents of an argument.
func (b *builder) publish(name, description string, required bool, schema json.RawMessage) {
	b.op.Arguments = append(b.op.Arguments, compose.Argument{Name: name, Description: description})
	b.published = append(b.published, publishedArgument{name, schema, required})
}
