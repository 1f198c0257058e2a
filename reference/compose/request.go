package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/tidwall/gjson"
)

// Request is a composed request. At most one of its bodies is set; a request
// without a body has none and no ContentType.
type Request struct {
	Method       string  `json:"method"`
	PathAndQuery string  `json:"pathAndQuery"`
	Headers      Headers `json:"headers,omitempty"`
	// ContentType is the template's. Empty with a BodyJSON, it means
	// application/json. A multipart body gets its boundary when it is encoded.
	ContentType string `json:"contentType,omitempty"`

	BodyJSON  json.RawMessage `json:"bodyJson,omitempty"`
	BodyForm  *string         `json:"bodyForm,omitempty"`
	BodyText  *string         `json:"bodyText,omitempty"`
	BodyFile  *File           `json:"bodyFile,omitempty"`
	BodyParts []Part          `json:"bodyParts,omitzero"`
}

// Header is one header field.
type Header struct{ Name, Value string }

// Headers are header fields in the order they were declared. Their JSON form
// is an object.
type Headers []Header

// MarshalJSON writes the headers as an object in their order.
func (h Headers) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, field := range h {
		if i > 0 {
			out = append(out, ',')
		}
		out = gjson.AppendJSONString(out, field.Name)
		out = append(out, ':')
		out = gjson.AppendJSONString(out, field.Value)
	}
	return append(out, '}'), nil
}

// Part is one part of a form: a file, or else a value.
type Part struct {
	Name  string
	Value string
	File  *File
}

// MarshalJSON writes the name and either the value or the file.
func (p Part) MarshalJSON() ([]byte, error) {
	if p.File != nil {
		return json.Marshal(struct {
			Name string `json:"name"`
			File *File  `json:"file"`
		}{p.Name, p.File})
	}
	return json.Marshal(struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}{p.Name, p.Value})
}

// Resolve fetches the files that the agent passed by reference, each up to
// maxBytes, and completes them in place. Its error is a *Refusal, unless ctx
// ended first or a ref was composed without a resolver to open it.
func (r *Request) Resolve(ctx context.Context, resolver FileResolver, maxBytes int64) error {
	for f := range r.files {
		if f.resolved {
			continue
		}
		if resolver == nil {
			return errors.New("the template takes file refs but no file resolver is bound")
		}
		if err := f.resolve(ctx, resolver, maxBytes); err != nil {
			return err
		}
	}
	return nil
}

func (r *Request) files(yield func(*File) bool) {
	if r.BodyFile != nil && !yield(r.BodyFile) {
		return
	}
	for i := range r.BodyParts {
		if f := r.BodyParts[i].File; f != nil && !yield(f) {
			return
		}
	}
}

// Payload encodes the body. Without one the content type is empty. It fails
// when a file ref has not been resolved.
func (r *Request) Payload() (contentType string, body []byte, err error) {
	for f := range r.files {
		if !f.resolved {
			return "", nil, fmt.Errorf("encoding the body: file of %q is not resolved", f.argument)
		}
	}
	switch {
	case r.BodyJSON != nil && r.ContentType == "":
		return "application/json", r.BodyJSON, nil
	case r.BodyJSON != nil:
		return r.ContentType, r.BodyJSON, nil
	case r.BodyForm != nil:
		return r.ContentType, []byte(*r.BodyForm), nil
	case r.BodyText != nil:
		return r.ContentType, []byte(*r.BodyText), nil
	case r.BodyFile != nil:
		return r.ContentType, r.BodyFile.content, nil
	case r.BodyParts != nil:
		return encodeParts(r.BodyParts)
	}
	return "", nil, nil
}

func encodeParts(parts []Part) (contentType string, body []byte, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		if err := encodePart(w, p); err != nil {
			return "", nil, fmt.Errorf("encoding part %q: %w", p.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, fmt.Errorf("encoding the body: %w", err)
	}
	return w.FormDataContentType(), b.Bytes(), nil
}

func encodePart(w *multipart.Writer, p Part) error {
	if p.File == nil {
		return w.WriteField(p.Name, p.Value)
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(p.Name, p.File.Filename)},
		"Content-Type":        {p.File.MediaType},
	})
	if err != nil {
		return err
	}
	_, err = part.Write(p.File.content)
	return err
}

// HTTPRequest makes the request to dispatch to the backend at baseURL, which
// may have a path of its own. Refs must have been resolved before.
func (r *Request) HTTPRequest(ctx context.Context, baseURL string) (*http.Request, error) {
	contentType, body, err := r.Payload()
	if err != nil {
		return nil, err
	}
	var req *http.Request
	target := strings.TrimSuffix(baseURL, "/") + r.PathAndQuery
	if contentType == "" {
		req, err = http.NewRequestWithContext(ctx, r.Method, target, nil)
	} else {
		req, err = http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(body))
	}
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	for _, h := range r.Headers {
		req.Header.Add(h.Name, h.Value)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return req, nil
}
