package invoke

import (
	"context"
	"fmt"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/schemas"
)

// ResolveName finds the operation (SDK-01).
func ResolveName(_ context.Context, l *Layer, c *Call) error {
	op, ok := l.Catalog.Lookup(c.Name)
	if !ok {
		return unknownTool(c.Name)
	}
	c.Operation = op
	return nil
}

// CheckVersion compares the pinned version with the one held (SDK-15).
func CheckVersion(_ context.Context, _ *Layer, c *Call) error {
	if c.Version != nil && *c.Version != c.Operation.Version {
		return &Refusal{schemas.RefuseParams{Error: schemas.ToolChanged, Tool: c.Name}}
	}
	return nil
}

// CheckTemplate wants a request template (SDK-02).
func CheckTemplate(_ context.Context, _ *Layer, c *Call) error {
	if c.Operation.Template == nil {
		return refuse(schemas.NotInvocable, fmt.Sprintf("The operation '%s' is listed but cannot be invoked: this host has no request template for it.", c.Name))
	}
	return nil
}

// ComposeArguments makes the request without sending it (SDK-03 to SDK-13). What
// it needs of the host, it asks for first.
func ComposeArguments(ctx context.Context, l *Layer, c *Call) error {
	call := compose.Call{
		Arguments:          c.Arguments,
		Deferred:           l.deferred(ctx, c.Operation.Sources),
		MaxInlineFileBytes: l.Limits.MaxInlineFileBytes,
	}
	var err error
	if call.CarrierCookies, err = l.identityCookies(ctx); err != nil {
		return err
	}
	c.Request, err = l.Policy.Compose(c.Operation.Template, call)
	return err
}

// ResolveFiles fetches the files that were passed by reference (SDK-13, SDK-14).
func ResolveFiles(ctx context.Context, l *Layer, c *Call) error {
	var resolver compose.FileResolver
	if l.Host.Files != nil {
		resolver = boundFiles{l}
	}
	return c.Request.Resolve(ctx, resolver, l.Limits.MaxFileBytes)
}
