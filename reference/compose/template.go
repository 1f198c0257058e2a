package compose

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
)

// Where a parameter is written (OpenAPI "in").
const (
	InPath   = "path"
	InQuery  = "query"
	InHeader = "header"
	InCookie = "cookie"
)

// Types of a field. A field without a type takes any scalar.
const (
	TypeString  = "string"
	TypeInteger = "integer"
	TypeNumber  = "number"
	TypeBoolean = "boolean"
	TypeObject  = "object" // query parameters and form fields only
	TypeFile    = "file"   // multipart form fields only
)

// Serialisation styles (OpenAPI "style"). The default is form for query and
// cookie, simple for path and header.
const (
	StyleForm           = "form"
	StyleSimple         = "simple"
	StylePipeDelimited  = "pipeDelimited"
	StyleSpaceDelimited = "spaceDelimited"
	StyleDeepObject     = "deepObject"
	StyleCookie         = "cookie" // the value is written as it is, not percent-encoded
)

// Notations of the members of an object: name[member] (the default) or name.member.
const (
	NotationBracket = "bracket"
	NotationDot     = "dot"
)

// Kinds of a fill: where a value comes from that the agent does not supply.
const (
	FillConstant = "constant"
	FillDeferred = "deferred"
)

// Template says how the arguments of one operation become one HTTP request.
// Everything is written in the order in which it is declared here, whatever
// the order in which the agent sent it.
type Template struct {
	Method     string      `json:"method"`
	Route      string      `json:"route"` // path with {name} for each path parameter
	Parameters []Parameter `json:"parameters,omitempty"`

	// Body collects top-level arguments into the body. BodyRoot instead names
	// the one argument whose value is the whole body, and RootFill supplies
	// that value in the agent's place. An operation without a body has neither.
	Body     *Body  `json:"body,omitempty"`
	BodyRoot string `json:"bodyRoot,omitempty"`
	RootFill *Fill  `json:"rootFill,omitempty"`

	// ContentType is the media type of the body and decides how it is written;
	// empty means JSON.
	ContentType string `json:"contentType,omitempty"`
	// Form types the fields of a urlencoded or multipart body.
	Form *Form `json:"form,omitempty"`
	// FileSources lists the members that may carry the content of a file
	// argument. Empty means text and base64; ref is listed by a host that has
	// bound a FileResolver, and by no other.
	FileSources []string `json:"fileSources,omitempty"`
}

// Field is a typed, named value.
type Field struct {
	Name    string  `json:"name"` // on the wire
	Type    string  `json:"type,omitempty"`
	Array   bool    `json:"array,omitempty"`
	Members []Field `json:"members,omitempty"` // of a TypeObject; scalars or arrays of scalars
	// MediaType is what a TypeFile is sent as when the agent does not say.
	MediaType string `json:"mediaType,omitempty"`
}

// Parameter is a field that is written outside of the body.
type Parameter struct {
	Field
	In    string `json:"in"`
	Style string `json:"style,omitempty"`
	// Explode repeats the key for each element of a query array. Nil means the
	// default of OpenAPI: true for the form style, false for the others.
	// Header, cookie and path arrays are always folded on a comma.
	Explode  *bool  `json:"explode,omitempty"`
	Notation string `json:"notation,omitempty"`
	// As is the name the agent uses, when it is not Name.
	As string `json:"as,omitempty"`
	// Fill hides the parameter from the agent and supplies its value.
	Fill *Fill `json:"fill,omitempty"`
}

// Body names the arguments that are collected into the body, by wire name.
type Body struct {
	Properties []string `json:"properties"`
	// AdditionalProperties lets a JSON body take arguments that are not
	// listed. It never opens the wire name of a hidden or renamed argument.
	AdditionalProperties bool       `json:"additionalProperties,omitempty"`
	Curation             []Curation `json:"curation,omitempty"`
}

// Curation renames or fills one property of a Body.
type Curation struct {
	Name string `json:"name"`
	As   string `json:"as,omitempty"`
	Fill *Fill  `json:"fill,omitempty"`
}

// Form types the fields of a form body.
type Form struct {
	Fields   []Field `json:"fields"`
	Notation string  `json:"notation,omitempty"`
}

// Fill is the origin of a value that the agent neither sees nor sets.
type Fill struct {
	Kind   string          `json:"kind"`
	Value  json.RawMessage `json:"value,omitempty"`  // of a constant
	Source string          `json:"source,omitempty"` // of a deferred value, key of Call.Deferred
}

// slot is one place of the request that an argument or a fill goes to.
type slot struct {
	wire string
	as   string
	fill *Fill
}

// agentName is the argument that the slot reads.
func (s slot) agentName() string { return cmp.Or(s.as, s.wire) }

func (p *Parameter) slot() slot { return slot{p.Name, p.As, p.Fill} }

func (t *Template) root() slot { return slot{wire: t.BodyRoot, fill: t.RootFill} }

// property is the slot of a body property, as the curation left it.
func (b *Body) property(name string) slot {
	i := slices.IndexFunc(b.Curation, func(c Curation) bool { return c.Name == name })
	if i < 0 {
		return slot{wire: name}
	}
	return slot{name, b.Curation[i].As, b.Curation[i].Fill}
}

// slots are all slots of the template in the order of the published schema.
func (t *Template) slots() iter.Seq[slot] {
	return func(yield func(slot) bool) {
		for i := range t.Parameters {
			if !yield(t.Parameters[i].slot()) {
				return
			}
		}
		if t.BodyRoot != "" {
			yield(t.root())
			return
		}
		if t.Body == nil {
			return
		}
		for _, name := range t.Body.Properties {
			if !yield(t.Body.property(name)) {
				return
			}
		}
	}
}

// Arguments are the names the agent may use, in the order of the published
// schema. Hidden arguments are not among them.
func (t *Template) Arguments() []string {
	var names []string
	for s := range t.slots() {
		if s.fill == nil {
			names = append(names, s.agentName())
		}
	}
	return names
}
