package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

// configure makes the layer of the settings. It takes the place of the one
// before as a whole; calls in flight keep theirs.
func (h *Handler) configure(ctx context.Context, raw json.RawMessage) (any, error) {
	params, err := decode[schemas.ConfigureParams](raw)
	if err != nil {
		return nil, err
	}
	if params.OpenAPIURL == "" {
		return nil, &rpcError{schemas.InvalidParams, errors.New("openapiUrl is missing: the operations are read from there")}
	}
	operations, err := h.documents.catalog(ctx, params.OpenAPIURL, params.Files != nil)
	if err != nil {
		return nil, &rpcError{schemas.InvalidParams, fmt.Errorf("openapiUrl %s: %w", params.OpenAPIURL, err)}
	}
	h.agents.forget()
	h.layer.Store(invoke.New(invoke.Config{
		Catalog:    operations,
		BackendURL: params.BackendURL,
		Host:       hostOf(params),
		Limits:     limitsOf(params),
		Mapper:     h.reference.Mapper,
		Transport:  h.transport,
		Policy:     h.policy,
		Questions:  &h.questions,
	}))
	return struct{}{}, nil
}

// limitsOf gives the limits of the settings, and the layer's own where they have none.
func limitsOf(params schemas.ConfigureParams) invoke.Limits {
	limits := invoke.DefaultLimits()
	limits.Timeout = time.Duration(params.TimeoutMs) * time.Millisecond
	if params.MaxResponseBytes > 0 {
		limits.MaxResponseBytes = params.MaxResponseBytes
	}
	if params.MaxInlineFileBytes != nil {
		limits.MaxInlineFileBytes = *params.MaxInlineFileBytes
	}
	if params.MaxFileBytes != nil {
		limits.MaxFileBytes = *params.MaxFileBytes
	}
	return limits
}

const (
	documentTimeout  = 10 * time.Second
	maxDocumentBytes = 32 << 20
)

// documents keeps the catalogs of the last document, with and without file refs:
// settings change from case to case, documents do not.
type documents struct {
	mu       sync.Mutex
	document []byte
	catalogs map[bool]*catalog.Catalog // by whether they take file refs
}

// catalog reads a document and makes the catalog of it.
func (d *documents) catalog(ctx context.Context, url string, fileRefs bool) (*catalog.Catalog, error) {
	document, err := fetch(ctx, url)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !bytes.Equal(document, d.document) {
		d.document, d.catalogs = document, map[bool]*catalog.Catalog{}
	}
	made, ok := d.catalogs[fileRefs]
	if !ok {
		if made, err = newCatalog(document, fileRefs); err != nil {
			return nil, err
		}
		d.catalogs[fileRefs] = made
	}
	return made, nil
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("asking for the OpenAPI document: %w", err)
	}
	answer, err := invoke.NewTransport().RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("asking for the OpenAPI document: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking for the OpenAPI document: the answer is %s", answer.Status)
	}
	document, err := io.ReadAll(io.LimitReader(answer.Body, maxDocumentBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	if len(document) > maxDocumentBytes {
		return nil, fmt.Errorf("reading the OpenAPI document: it is over %d bytes", maxDocumentBytes)
	}
	return document, nil
}

// curations are what this host makes of the sample API: the tenant is not the
// agent's to choose.
var curations = []catalog.Curation{{
	Operation: "tenant_report", Argument: "tenantId", In: compose.InPath,
	Fill: &compose.Fill{Kind: compose.FillDeferred, Source: "tenantId"},
}}

// legacy is an operation that this host lists and cannot call (SDK-02).
var legacy = catalog.Operation{
	Name:        "legacy_report",
	Summary:     "Report of the old system",
	Description: "Report of the old system. It is listed for reference and has no request template.",
}

func newCatalog(document []byte, fileRefs bool) (*catalog.Catalog, error) {
	operations, err := catalog.FromOpenAPI(document, catalog.Options{Curations: curations, FileRefs: fileRefs})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(operations, func(op catalog.Operation) bool { return op.Name == legacy.Name }) {
		operations = append(operations, legacy)
	}
	return catalog.New(operations)
}
