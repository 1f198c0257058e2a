package compose

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Members of a file argument that carry its content.
const (
	SourceText   = "text"
	SourceBase64 = "base64"
	SourceRef    = "ref" // a name that the host's FileResolver knows
)

// Media types of a file when neither the agent nor the template says more.
const (
	defaultTextType = "text/plain; charset=utf-8"
	defaultFileType = "application/octet-stream"
)

// What a FileResolver answers instead of a file, wrapped or not.
var (
	ErrFileNotFound    = errors.New("file not found")
	ErrFileForbidden   = errors.New("file forbidden")
	ErrFileUnavailable = errors.New("file store unavailable")
	ErrFileTooLarge    = errors.New("file too large")
)

// FileResolver opens the files that agents pass by reference.
type FileResolver interface {
	// OpenFile opens the file that ref names for the caller of ctx. Its errors
	// are the ErrFile values; anything else counts as ErrFileNotFound.
	OpenFile(ctx context.Context, ref string) (*OpenedFile, error)
}

// OpenedFile is a file of a FileResolver. Name and MediaType may be empty, and
// yield to what the agent said.
type OpenedFile struct {
	Name      string
	MediaType string
	Content   io.ReadCloser
}

// File is a file of a request. Its JSON form has the source as a member, as in
// {"text":"hi","filename":"a.txt","mediaType":"text/plain"}.
type File struct {
	Source string // SourceText, SourceBase64 or SourceRef
	Value  string // what the agent sent under Source
	// Filename and MediaType are final for inline content. For a ref they hold
	// what the agent sent, possibly nothing, until Request.Resolve.
	Filename  string
	MediaType string

	content  []byte
	resolved bool // content is final
	argument string
	fill     *Fill // hides the argument
	// What a ref is called when neither the agent nor the resolver says.
	fallbackName, fallbackType string
}

// MarshalJSON writes the file in the form of a composed request.
func (f *File) MarshalJSON() ([]byte, error) {
	m := map[string]any{f.Source: f.Value}
	if f.Source == SourceBase64 {
		m["byteLength"] = len(f.content)
	}
	if f.Filename != "" {
		m["filename"] = f.Filename
	}
	if f.MediaType != "" {
		m["mediaType"] = f.MediaType
	}
	return json.Marshal(m)
}

func invalidFile(field, format string, args ...any) *Refusal {
	return refuse(CodeInvalidFileArgument, field, "File argument '%s' "+format, args...)
}

// file reads a file argument (SDK-12). Name is the field it fills and declared
// the media type of the template.
func (c *composition) file(v gjson.Result, label, name, declared string, fill *Fill) (*File, error) {
	if v.Type == gjson.Null {
		return nil, nullNotAllowed(label)
	}
	if !v.IsObject() {
		return nil, invalidFile(label, "must be an object, not %s.", kind(v))
	}
	sources := c.template.FileSources
	if len(sources) == 0 {
		sources = []string{SourceText, SourceBase64}
	}
	f := &File{argument: label, fill: fill, fallbackName: name, fallbackType: defaultFileType}
	found := 0
	for k, value := range v.ForEach {
		key := k.Str
		// The unknown key is not repeated: it may be a source that this host
		// does not offer.
		if key != "name" && key != "mediaType" && !slices.Contains(sources, key) {
			return nil, invalidFile(label, "has an unknown member. Allowed: %s, name, mediaType.", strings.Join(sources, ", "))
		}
		if value.Type != gjson.String {
			return nil, invalidFile(label, "must have a string as its %s.", key)
		}
		var err error
		switch key {
		case "name":
			f.Filename = value.Str
			err = checkFilename(label, value.Str)
		case "mediaType":
			f.MediaType = value.Str
			err = checkMediaType(label, value.Str)
		default:
			f.Source, f.Value = key, value.Str
			found++
		}
		if err != nil {
			return nil, err
		}
	}
	if found != 1 {
		return nil, invalidFile(label, "must have exactly one of: %s.", strings.Join(sources, ", "))
	}
	if err := c.inline(f, declared); err != nil {
		return nil, err
	}
	return f, nil
}

// inline decodes the content of a file, counts it (SDK-13) and settles its type.
func (c *composition) inline(f *File, declared string) error {
	concrete := declared != "" && !strings.Contains(declared, "*") && mediaTypeOf(declared) != defaultFileType
	if concrete {
		f.fallbackType = declared
	}
	switch f.Source {
	case SourceRef:
		if f.Value == "" {
			return invalidFile(f.argument, "must not have an empty ref.")
		}
		return nil
	case SourceText:
		f.content = []byte(f.Value)
		if !concrete {
			f.fallbackType = defaultTextType
		}
	case SourceBase64:
		// The decoder of the standard library skips line breaks; nothing else
		// outside of the standard alphabet gets past it.
		content, err := base64.StdEncoding.DecodeString(f.Value)
		if err != nil || strings.ContainsAny(f.Value, "\r\n") {
			return invalidFile(f.argument, "must have padded base64 of the standard alphabet, without white space.")
		}
		f.content = content
		if c.inlineBytes += int64(len(content)); c.inlineBytes > c.call.MaxInlineFileBytes {
			return refuse(CodeFileTooLarge, f.argument,
				"File argument '%s' takes the inline files of this call over the limit of %d bytes in all.",
				c.call.MaxInlineFileBytes)
		}
	}
	f.settle()
	return nil
}

// settle gives the file its final name and type.
func (f *File) settle() {
	f.Filename = cmp.Or(f.Filename, f.fallbackName)
	f.MediaType = cmp.Or(f.MediaType, f.fallbackType)
	f.resolved = true
}

// checkFilename refuses what would end the quoted name in a part's header, or
// name a directory.
func checkFilename(label, name string) error {
	if name == "" || strings.ContainsAny(name, "\"\r\n\x00/\\") {
		return invalidFile(label, "must have a name that is not empty, without quotes, slashes, backslashes or line breaks.")
	}
	return nil
}

// checkMediaType refuses what is not type/subtype with parameters (RFC 9110, 8.3.1).
func checkMediaType(label, mediaType string) error {
	parsed, _, err := mime.ParseMediaType(mediaType)
	// ParseMediaType takes a type without subtype, and any white space between parameters.
	control := strings.ContainsFunc(mediaType, func(r rune) bool { return r < ' ' || r >= 0x7F })
	if err != nil || control || !strings.Contains(parsed, "/") {
		return invalidFile(label, "must have a mediaType of the form type/subtype.")
	}
	return nil
}

// resolve reads a file passed by reference, up to limit bytes.
func (f *File) resolve(ctx context.Context, resolver FileResolver, limit int64) error {
	opened, err := resolver.OpenFile(ctx, f.Value)
	if err != nil {
		return f.unresolved(ctx, err, limit)
	}
	defer opened.Content.Close()
	// One byte more than allowed tells a file at the limit from one above it.
	content, err := io.ReadAll(io.LimitReader(opened.Content, min(limit, math.MaxInt64-1)+1))
	if err != nil {
		return f.unresolved(ctx, err, limit)
	}
	if int64(len(content)) > limit {
		return f.unresolved(ctx, ErrFileTooLarge, limit)
	}
	f.content = content
	// The resolver's words pass the same checks as the agent's, but a bad one
	// is not the agent's fault and is left out.
	if f.Filename == "" && checkFilename("", opened.Name) == nil {
		f.Filename = opened.Name
	}
	if f.MediaType == "" && checkMediaType("", opened.MediaType) == nil {
		f.MediaType = opened.MediaType
	}
	f.settle()
	return nil
}

// unresolved is the refusal of a ref (SDK-13, SDK-14). A file the caller may
// not read is answered like one that does not exist, so that nobody can find
// out which refs do. An abandoned call is an error of its own.
func (f *File) unresolved(ctx context.Context, err error, limit int64) error {
	if ctx.Err() != nil {
		return fmt.Errorf("resolving a file argument: %w", ctx.Err())
	}
	var r *Refusal
	switch {
	case errors.Is(err, ErrFileTooLarge):
		r = refuse(CodeFileTooLarge, f.argument,
			"File argument '%s' is over the limit of %d bytes and was not sent.", limit)
	case errors.Is(err, ErrFileUnavailable):
		r = refuse(CodeFileUnresolved, f.argument,
			"File argument '%s' could not be resolved right now. Retry the call.")
		r.Retryable = true
	default:
		r = refuse(CodeFileUnresolved, f.argument,
			"File argument '%s' names a ref that could not be resolved. Retrying with the same ref will not help.")
	}
	return conceal(f.fill, r)
}
