package mockbackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/touchstone/schemas"
)

// A SourceError says what is wrong in a file of stubs and where.
type SourceError struct {
	File string
	// Line counts from 1.
	Line int
	// Pointer is the JSON Pointer (RFC 6901) of the member, also in YAML.
	Pointer string
	Err     error
	inStub  bool // the document can be read, a stub in it not be used
}

func (e *SourceError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: %s: %v", e.File, e.Line, e.Pointer, e.Err)
}

func (e *SourceError) Unwrap() error { return e.Err }

// A FileStub is a stub with the place it was read from.
type FileStub struct {
	schemas.Stub
	source  *source
	pointer string
}

// fail places an error in the stub's file.
func (f FileStub) fail(err error) error {
	at := f.source.fail(f.pointer, err)
	at.inStub = true
	return at
}

// place is where the stub begins.
func (f FileStub) place() string {
	return fmt.Sprintf("%s:%d", f.source.name, f.source.line(f.pointer))
}

// ReadStubs reads JSON or YAML: one stub, a list of stubs, or {"stubs": [...]}.
// Whether it is YAML tells the extension of name, else the text. The error
// joins a [*SourceError] for each stub that is wrong.
func ReadStubs(name string, data []byte) ([]FileStub, error) {
	src, err := readSource(name, data)
	if err != nil {
		return nil, err
	}
	texts, pointer, err := src.stubs()
	if err != nil {
		return nil, err
	}
	list := make([]FileStub, len(texts))
	var wrong []error
	for i, text := range texts {
		list[i] = FileStub{source: src, pointer: pointer(i)}
		if list[i].Stub, err = DecodeStub(text); err != nil {
			wrong = append(wrong, list[i].fail(err))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return list, nil
}

// A source is a file of stubs as JSON, with what is needed to find a place in
// the file as it was written.
type source struct {
	name  string
	json  []byte
	lines map[string]int // of YAML, by JSON Pointer
}

func readSource(name string, data []byte) (*source, error) {
	src := &source{name: name, json: bytes.TrimPrefix(data, []byte("\ufeff"))}
	if !isJSON(name, src.json) {
		text, lines, err := yamlToJSON(src.json)
		if err != nil {
			if at, ok := errors.AsType[*yamlError](err); ok {
				return nil, &SourceError{File: name, Line: at.line, Pointer: at.pointer, Err: err}
			}
			return nil, &SourceError{File: name, Line: yamlErrorLine(err), Err: err}
		}
		src.json, src.lines = text, lines
		return src, nil
	}
	var v json.RawMessage
	if err := json.Unmarshal(src.json, &v); err != nil {
		line := 1
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			line += bytes.Count(src.json[:min(syntax.Offset, int64(len(src.json)))], []byte("\n"))
		}
		return nil, &SourceError{File: name, Line: line, Err: fmt.Errorf("not JSON: %w", err)}
	}
	if twice, ok := errors.AsType[*schemas.DuplicateError](schemas.CheckUnique(src.json)); ok {
		return nil, &SourceError{File: name, Line: twice.Line, Pointer: twice.Pointer, Err: twice}
	}
	return src, nil
}

func isJSON(name string, data []byte) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		return true
	case ".yaml", ".yml":
		return false
	}
	return json.Valid(data)
}

// yamlErrorLine reads the line out of an error of the YAML parser, which has it
// in its text alone.
func yamlErrorLine(err error) int {
	line := 1
	if _, after, ok := strings.Cut(err.Error(), "line "); ok {
		if _, scanErr := fmt.Sscanf(after, "%d", &line); scanErr != nil {
			return 1
		}
	}
	return line
}

// stubs gives the texts of the stubs, and their pointers by number.
func (src *source) stubs() ([]json.RawMessage, func(int) string, error) {
	var list []json.RawMessage
	below := func(list string) func(int) string {
		return func(i int) string { return list + "/" + strconv.Itoa(i) }
	}
	switch text := bytes.TrimSpace(src.json); {
	case bytes.HasPrefix(text, []byte("[")):
		err := json.Unmarshal(text, &list)
		return list, below(""), err
	case !bytes.HasPrefix(text, []byte("{")):
		return nil, nil, src.fail("", errors.New("holds neither a stub, nor a list of stubs, nor {stubs: [...]}"))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(src.json, &members); err != nil {
		return nil, nil, src.fail("", err)
	}
	stubs, ok := members["stubs"]
	if !ok {
		return []json.RawMessage{src.json}, func(int) string { return "" }, nil
	}
	for name := range members {
		if name != "stubs" && name != "$schema" {
			return nil, nil, src.fail("/"+pointerEscaper.Replace(name), errors.New("stands beside stubs; only $schema may"))
		}
	}
	if err := json.Unmarshal(stubs, &list); err != nil {
		return nil, nil, src.fail("/stubs", errors.New("is not a list"))
	}
	return list, below("/stubs"), nil
}

// fail places an error at a pointer, or at the member below it that an
// [*InvalidStubError] names.
func (src *source) fail(pointer string, err error) *SourceError {
	if bad, ok := errors.AsType[*InvalidStubError](err); ok {
		pointer, err = pointer+bad.Pointer, bad.Err
	}
	return &SourceError{File: src.name, Line: src.line(pointer), Pointer: pointer, Err: err}
}

func (src *source) line(pointer string) int {
	if src.lines == nil {
		return schemas.LineOf(src.json, pointer)
	}
	for {
		if line, ok := src.lines[pointer]; ok {
			return line
		}
		cut := strings.LastIndexByte(pointer, '/')
		if cut < 0 {
			return 1
		}
		pointer = pointer[:cut]
	}
}
