package schemas

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"
)

//go:embed *.schema.json
var files embed.FS

const baseURL = "https://touchstone.example.com/schemas/"

// Ref names a schema: a file, or a definition in one ("envelope.schema.json#/definitions/success").
type Ref string

// The schemas that others validate against. Where a document has branches, the
// branch is chosen by its discriminator first, so that a violation is about the
// real mistake and not about a failed "oneOf".
const (
	SuccessSchema         Ref = "envelope.schema.json#/definitions/success"
	BackendErrorSchema    Ref = "envelope.schema.json#/definitions/backendError"
	SDKErrorSchema        Ref = "envelope.schema.json#/definitions/sdkError"
	CaseSchema            Ref = "fixture.schema.json#/definitions/case"
	CaseListSchema        Ref = "fixture.schema.json#/definitions/case-list"
	FamilySchema          Ref = "fixture.schema.json#/definitions/family"
	TableSchema           Ref = "fixture.schema.json#/definitions/table"
	ResponseInputSchema   Ref = "fixture.schema.json#/definitions/response"
	RefusalInputSchema    Ref = "fixture.schema.json#/definitions/refusal"
	CompositionSchema     Ref = "fixture.schema.json#/definitions/composition"
	CallsSchema           Ref = "fixture.schema.json#/definitions/calls"
	RequirementsSchema    Ref = "requirement.schema.json"
	CertificateSchema     Ref = "certificate.schema.json"
	RequestSchema         Ref = "target-protocol.schema.json#/definitions/request"
	ResponseSchema        Ref = "target-protocol.schema.json#/definitions/response"
	DescribeParamsSchema  Ref = "target-protocol.schema.json#/definitions/describeParams"
	DescribeResultSchema  Ref = "target-protocol.schema.json#/definitions/describeResult"
	ConfigureParamsSchema Ref = "target-protocol.schema.json#/definitions/configureParams"
	ConfigureResultSchema Ref = "target-protocol.schema.json#/definitions/configureResult"
	MapParamsSchema       Ref = "target-protocol.schema.json#/definitions/mapParams"
	RefuseParamsSchema    Ref = "target-protocol.schema.json#/definitions/refuseParams"
	InvokeParamsSchema    Ref = "target-protocol.schema.json#/definitions/invokeParams"
	ComposeParamsSchema   Ref = "target-protocol.schema.json#/definitions/composeParams"
	ComposeResultSchema   Ref = "target-protocol.schema.json#/definitions/composeResult"
	SearchParamsSchema    Ref = "target-protocol.schema.json#/definitions/searchParams"
	LoadParamsSchema      Ref = "target-protocol.schema.json#/definitions/loadParams"
	AnswerSchema          Ref = "target-protocol.schema.json#/definitions/answer"
)

// FS holds the schema files.
func FS() fs.FS { return files }

// Violation is one place where a document breaks its schema.
type Violation struct {
	// Pointer is the place, as a JSON Pointer (RFC 6901); "" is the document itself.
	Pointer string
	// Keyword is the JSON Schema keyword that failed, in gojsonschema's spelling:
	// "required", "additional_property_not_allowed", "invalid_type", "enum", ...
	Keyword string
	// Property is the member that is missing or not allowed, where that is the violation.
	Property string
	// Rule says in words what the schema asks for.
	Rule string
	// Value is the offending value.
	Value any
}

// Place is the JSON Pointer of what is to be changed: of a member that is not
// allowed, the member's own.
func (v Violation) Place() string {
	if v.Keyword != "additional_property_not_allowed" {
		return v.Pointer
	}
	return v.Pointer + "/" + tokenEscaper.Replace(v.Property)
}

// tokenEscaper escapes one reference token of a JSON Pointer.
var tokenEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// String gives the pointer, the rule and the value, in one line.
func (v Violation) String() string {
	at := v.Pointer
	if at == "" {
		at = "/"
	}
	value, err := json.Marshal(v.Value)
	if err != nil {
		value = []byte(fmt.Sprint(v.Value))
	}
	if len(value) > 120 {
		value = append(bytes.ToValidUTF8(value[:117], nil), "..."...)
	}
	return fmt.Sprintf("%s: %s (value: %s)", at, v.Rule, value)
}

// compiled keeps the loader and each schema that it has compiled; neither
// changes, and a schema may be used from many goroutines.
var compiled struct {
	sync.Mutex
	loader  *gojsonschema.SchemaLoader
	schemas map[Ref]*gojsonschema.Schema
}

func schemaFor(ref Ref) (*gojsonschema.Schema, error) {
	compiled.Lock()
	defer compiled.Unlock()
	if s, ok := compiled.schemas[ref]; ok {
		return s, nil
	}
	if compiled.loader == nil {
		loader, err := newLoader()
		if err != nil {
			return nil, err
		}
		compiled.loader, compiled.schemas = loader, make(map[Ref]*gojsonschema.Schema)
	}
	// A name that is not embedded would be fetched from the network.
	name, _, _ := strings.Cut(string(ref), "#")
	if _, err := fs.Stat(files, name); err != nil {
		return nil, fmt.Errorf("finding the schema %s: %w", ref, err)
	}
	s, err := compiled.loader.Compile(gojsonschema.NewReferenceLoader(baseURL + string(ref)))
	if err != nil {
		return nil, fmt.Errorf("compiling the schema %s: %w", ref, err)
	}
	compiled.schemas[ref] = s
	return s, nil
}

// newLoader reads the embedded files once for all schemas, which refer to each other.
func newLoader() (*gojsonschema.SchemaLoader, error) {
	loader := gojsonschema.NewSchemaLoader()
	loader.Draft = gojsonschema.Draft7
	loader.AutoDetect = false
	names, err := fs.Glob(files, "*.schema.json")
	if err != nil {
		return nil, fmt.Errorf("listing the embedded schemas: %w", err)
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the embedded schema %s: %w", name, err)
		}
		if err := loader.AddSchema(baseURL+name, gojsonschema.NewBytesLoader(data)); err != nil {
			return nil, fmt.Errorf("adding the schema %s: %w", name, err)
		}
	}
	return loader, nil
}

// maxNumber is the length of the longest number that Validate looks at.
// gojsonschema makes a [big.Rat] of every number it checks, which takes minutes
// for a number of some megabytes.
const maxNumber = 1000

// A LongNumberError is a number of a document that is too long to be checked.
type LongNumberError struct{ Length int } // in characters

func (e *LongNumberError) Error() string {
	return fmt.Sprintf("a number of %d characters, the most that is checked is %d", e.Length, maxNumber)
}

// Validate checks a JSON document against a schema. It gives the violations,
// ordered by pointer, and an error when the document is not JSON, holds a number
// of over 1000 characters (a [*LongNumberError]), or the schema does not exist.
func Validate(ref Ref, doc []byte) ([]Violation, error) {
	s, err := schemaFor(ref)
	if err != nil {
		return nil, err
	}
	if !json.Valid(doc) {
		// gojsonschema reads the first value and ignores what follows it.
		var v any
		err := json.Unmarshal(doc, &v)
		return nil, fmt.Errorf("not a JSON document: %w", err)
	}
	if n := longestNumber(doc); n > maxNumber {
		return nil, &LongNumberError{n}
	}
	result, err := s.Validate(gojsonschema.NewBytesLoader(doc))
	if err != nil {
		return nil, fmt.Errorf("validating against %s: %w", ref, err)
	}
	if result.Valid() {
		return nil, nil
	}
	violations := make([]Violation, 0, len(result.Errors()))
	for _, e := range result.Errors() {
		v := Violation{
			Pointer: pointer(e.Context()),
			Keyword: e.Type(),
			Rule:    e.Description(),
			Value:   e.Value(),
		}
		if p, ok := e.Details()["property"].(string); ok {
			v.Property = p
		}
		violations = append(violations, v)
	}
	// The library walks Go maps: without an order of our own the same document
	// gives its violations in another order each time.
	slices.SortStableFunc(violations, func(a, b Violation) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Keyword, b.Keyword), strings.Compare(a.Rule, b.Rule))
	})
	return violations, nil
}

// longestNumber gives the length of the longest number in a valid JSON document.
func longestNumber(doc []byte) int {
	longest, run := 0, 0
	inString := false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case inString:
			if c == '\\' {
				i++
			}
			inString = c != '"'
		case c == '"':
			inString = true
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			run++
			longest = max(longest, run)
			continue
		}
		run = 0
	}
	return longest
}

// Check is Validate for callers that want one error: nil, or one that lists
// every violation.
func Check(ref Ref, doc []byte) error {
	violations, err := Validate(ref, doc)
	if err != nil {
		return err
	}
	if len(violations) == 0 {
		return nil
	}
	lines := make([]string, len(violations))
	for i, v := range violations {
		lines[i] = v.String()
	}
	return &SchemaError{Ref: ref, Violations: violations, text: strings.Join(lines, "; ")}
}

// SchemaError is the error of Check: the document breaks the schema.
type SchemaError struct {
	Ref        Ref
	Violations []Violation
	text       string
}

func (e *SchemaError) Error() string { return e.text }

// pointer turns gojsonschema's "(root).a.0.b" into "/a/0/b". The library joins
// the parts with a delimiter of our choice, so that names with dots survive.
func pointer(c *gojsonschema.JsonContext) string {
	const sep = "\x00"
	parts := strings.Split(c.String(sep), sep)[1:]
	var out strings.Builder
	for _, p := range parts {
		out.WriteByte('/')
		out.WriteString(tokenEscaper.Replace(p))
	}
	return out.String()
}

// LineOf gives the line, counted from 1, on which the value at a JSON Pointer
// starts in doc, or 1 when the pointer leads nowhere. Lines end with \n or \r\n.
func LineOf(doc []byte, ptr string) int {
	offset, ok := offsetOf(doc, ptr)
	if !ok {
		return 1
	}
	return 1 + strings.Count(string(doc[:offset]), "\n")
}

func offsetOf(doc []byte, ptr string) (int64, bool) {
	dec := json.NewDecoder(strings.NewReader(string(doc)))
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	rest := strings.Split(ptr, "/")[1:]
	for {
		if len(rest) == 0 {
			start := dec.InputOffset()
			// InputOffset is the end of the last token: step over what stands before the value.
			for start < int64(len(doc)) && strings.IndexByte(" \t\r\n:,", doc[start]) >= 0 {
				start++
			}
			return start, true
		}
		tok, err := dec.Token()
		if err != nil {
			return 0, false
		}
		want := unescape.Replace(rest[0])
		index, isIndex := strconv.Atoi(want)
		found := false
		for i := 0; dec.More() && !found; i++ {
			switch tok {
			case json.Delim('{'):
				key, err := dec.Token()
				if err != nil {
					return 0, false
				}
				found = key == want
			case json.Delim('['):
				found = isIndex == nil && i == index
			default:
				return 0, false
			}
			if !found {
				var skip json.RawMessage
				if dec.Decode(&skip) != nil {
					return 0, false
				}
			}
		}
		if !found {
			return 0, false
		}
		rest = rest[1:]
	}
}
