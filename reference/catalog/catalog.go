// Package catalog holds the operations that an agent can find, load and invoke.
//
// [FromOpenAPI] makes them from an OpenAPI document, [New] puts them into a
// [Catalog]. What an agent is told of an operation, and what its [compose.Template]
// takes, are made together and from one source, so that they cannot differ.
package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// Operation is one operation of a backend.
type Operation struct {
	Name string
	// Summary is a line for lists, Description what an agent reads before a call.
	Summary     string
	Description string
	// Method and Path say where the operation is; the path has {name} for parameters.
	Method string
	Path   string
	// Arguments are the arguments an agent may give, in the order of InputSchema.
	Arguments []compose.Argument
	// InputSchema is the JSON Schema of the arguments; nil means that there are none.
	InputSchema json.RawMessage
	// Template makes the request. An operation without one is known and
	// described, and cannot be invoked (SDK-02).
	Template *compose.Template
	// Diagnostics tell the host what could not be taken over, and why. They are
	// not for agents.
	Diagnostics []string

	// Version is a hash of everything that an agent is told (SDK-15), Fields
	// names what a backend reports, and Sources are the deferred values that a
	// call needs. New sets all three.
	Version string
	Fields  envelope.FieldContext
	Sources []string
}

// noArguments is the schema of an operation without arguments.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// Catalog is a set of operations in the order they were given. It does not
// change, and may be used by any number of goroutines.
type Catalog struct {
	operations []*Operation
	byName     map[string]*Operation
	words      map[*Operation]words // for the search
}

// New makes a catalog. It fails on a name that is blank or used twice, and on a
// template that does not pass [compose.Template.Validate].
func New(operations []Operation) (*Catalog, error) {
	c := &Catalog{byName: make(map[string]*Operation, len(operations)), words: make(map[*Operation]words, len(operations))}
	var problems []error
	for _, op := range operations {
		switch _, taken := c.byName[op.Name]; {
		case strings.TrimSpace(op.Name) == "":
			problems = append(problems, fmt.Errorf("operation %s %s has no name", op.Method, op.Path))
		case taken:
			problems = append(problems, fmt.Errorf("two operations are called %q", op.Name))
		}
		if op.Template != nil {
			if err := op.Template.Validate(); err != nil {
				problems = append(problems, fmt.Errorf("operation %q: %w", op.Name, err))
			}
		}
		op.complete()
		c.operations = append(c.operations, &op)
		c.byName[op.Name] = &op
		c.words[&op] = op.index()
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("making the catalog: %w", errors.Join(problems...))
	}
	return c, nil
}

// complete sets what follows from the rest of the operation.
func (op *Operation) complete() {
	if op.InputSchema == nil {
		op.InputSchema = json.RawMessage(noArguments)
	}
	told := sha256.New()
	for _, text := range []string{op.Name, op.Summary, op.Description, string(op.InputSchema)} {
		fmt.Fprintf(told, "%d:%s", len(text), text)
	}
	op.Version = hex.EncodeToString(told.Sum(nil)[:8])

	fields := schemas.FieldContext{Aliases: map[string]string{}}
	op.Sources = nil
	for _, p := range places(op.Template) {
		switch {
		case p.fill != nil:
			fields.Hidden = append(fields.Hidden, p.wire)
			if p.fill.Kind == compose.FillDeferred && !slices.Contains(op.Sources, p.fill.Source) {
				op.Sources = append(op.Sources, p.fill.Source)
			}
		default:
			fields.Known = append(fields.Known, cmp.Or(p.as, p.wire))
			if p.as != "" {
				fields.Aliases[p.wire] = p.as
			}
		}
	}
	op.Fields = envelope.NewFieldContext(fields)
}

// place is where a value of a request comes from.
type place struct {
	wire, as string
	fill     *compose.Fill
}

// places gives the places of a template in its order.
func places(t *compose.Template) []place {
	if t == nil {
		return nil
	}
	var list []place
	for _, p := range t.Parameters {
		list = append(list, place{p.Name, p.As, p.Fill})
	}
	if t.BodyRoot != "" {
		list = append(list, place{t.BodyRoot, "", t.RootFill})
	}
	if t.Body != nil {
		for _, name := range t.Body.Properties {
			p := place{wire: name}
			for _, c := range t.Body.Curation {
				if c.Name == name {
					p.as, p.fill = c.As, c.Fill
				}
			}
			list = append(list, p)
		}
	}
	return list
}

// Lookup finds an operation by its exact name.
func (c *Catalog) Lookup(name string) (*Operation, bool) {
	op, ok := c.byName[name]
	return op, ok
}

// Operations gives the operations in their order. The caller must not change them.
func (c *Catalog) Operations() []*Operation { return c.operations }
