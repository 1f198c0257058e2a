package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/mutant"
	"example.com/touchstone/reference/serve"
)

// serveAs makes this test binary a server: what it does, a colon, and a mutant.
const serveAs = "TOUCHSTONE_TEST_SERVE_AS"

func TestMain(m *testing.M) {
	if how, id, ok := strings.Cut(os.Getenv(serveAs), ":"); ok {
		if err := serveChild(how, id); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func serveChild(how, id string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if kind, ok := strings.CutPrefix(how, "misanswers "); ok {
		return misanswer(kind).serve(os.Stdin, os.Stdout)
	}
	switch how {
	case "lines":
		return serve.New(referenceOf(id)).ServeLines(ctx, os.Stdin, os.Stdout)
	case "dies":
		return errors.New("the port is taken")
	case "talks":
		fmt.Println("listening on a port")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "talks and ends":
		fmt.Println("listening on a port")
		return nil
	case "is silent":
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "chats":
		return chat(os.Stdin, os.Stdout, fake{"invoke_tool": `"result":{"content":[{"type":"text","text":"{\"status\":200}"}],"isError":false}`})
	case "answers no call":
		return chat(os.Stdin, os.Stdout, fake{"load_tool": ""})
	case "lists no tools":
		return chat(os.Stdin, os.Stdout, fake{"tools/list": ""})
	case "lists wrongly":
		return chat(os.Stdin, os.Stdout, fake{"tools/list": `"result":{"tools":7}`})
	}
	server, err := newServer(id, os.Getenv("TOUCHSTONE_BACKEND_URL"))
	if err != nil {
		return err
	}
	return server.ServeStdio(ctx)
}

// referenceOf gives a mutant, or the reference for "".
func referenceOf(id string) serve.Reference {
	if id == "" {
		return serve.Reference{}
	}
	all := mutant.All()
	return all[slices.IndexFunc(all, func(m mutant.Mutant) bool { return m.ID == id })].New()
}

func newServer(id, backendURL string) (*serve.MCPServer, error) {
	return serve.NewMCP(referenceOf(id), serve.MCPOptions{Document: mockbackend.OpenAPI(), BackendURL: backendURL, Limits: invoke.DefaultLimits()})
}
