package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

// hostOf plays the host that the settings describe.
func hostOf(params schemas.ConfigureParams) invoke.Host {
	host := invoke.Host{
		Identity: identity{params.IdentityCookies, params.InternalFault},
		Deferred: deferred(params.Deferred),
	}
	if params.Files != nil {
		host.Files = files(params.Files)
	}
	if params.Ranker != nil {
		host.Ranker = rankers[params.Ranker.Behaviour]
		if params.Ranker.OnFailure == "refuse" {
			host.OnRankerFailure = invoke.RefuseSearch
		}
	}
	return host
}

// identity has the cookies of the caller. With a fault it fails, and the layer
// with it.
type identity struct{ cookies, fault string }

func (i identity) Cookies(context.Context) (string, error) {
	if i.fault != "" {
		return "", errors.New(i.fault)
	}
	return i.cookies, nil
}

// deferred has values by source.
type deferred map[string]json.RawMessage

func (d deferred) Value(_ context.Context, source string) (json.RawMessage, error) {
	return d[source], nil
}

// files has files by ref. A ref that is not there is not found.
type files map[string]schemas.ResolvedFile

func (f files) OpenFile(_ context.Context, ref string) (*compose.OpenedFile, error) {
	file, ok := f[ref]
	if !ok {
		return nil, compose.ErrFileNotFound
	}
	switch file.Error {
	case "":
	case "forbidden":
		return nil, compose.ErrFileForbidden
	case "unavailable":
		return nil, compose.ErrFileUnavailable
	default:
		return nil, compose.ErrFileNotFound
	}
	var content io.Reader = strings.NewReader("")
	switch {
	case file.Text != nil:
		content = strings.NewReader(*file.Text)
	case file.Base64 != nil:
		content = base64.NewDecoder(base64.StdEncoding, strings.NewReader(*file.Base64))
	}
	return &compose.OpenedFile{Name: file.Name, MediaType: file.MediaType, Content: io.NopCloser(content)}, nil
}

// rankers are the rankers that a host may have bound, by behaviour.
var rankers = map[string]catalog.Ranker{
	"answers": catalog.WordRanker{},
	"fails": catalog.RankerFunc(func(context.Context, string, *catalog.Catalog) ([]string, error) {
		return nil, errors.New("the index is being rebuilt")
	}),
	"hangs": catalog.RankerFunc(func(ctx context.Context, _ string, _ *catalog.Catalog) ([]string, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("waiting for the index: %w", ctx.Err())
	}),
	"nonsense": catalog.RankerFunc(func(_ context.Context, _ string, c *catalog.Catalog) ([]string, error) {
		first := c.Operations()[0].Name
		return []string{first, "no_such_operation", first}, nil
	}),
}
