package serve_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
)

// library is the document of a public interface that nobody wrote for this project.
func library(t *testing.T) []byte {
	t.Helper()
	document, err := os.ReadFile("../testdata/library.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// libraryServer serves it, with a backend that answers {"ok":true} to everything.
func libraryServer(t *testing.T) (server *serve.MCPServer, requests func() []seen) {
	t.Helper()
	url, requests := recorder(t)
	server, err := serve.NewMCP(serve.Reference{}, serve.MCPOptions{Document: library(t), BackendURL: url, Limits: invoke.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if server.Diagnostics != nil {
		t.Errorf("left out: %v", server.Diagnostics)
	}
	return server, requests
}

// connected gives a session over a transport.
func connected(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// inMemory gives a session with a server in this process.
func inMemory(t *testing.T, server *serve.MCPServer) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, theirs) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return connected(t, ours)
}

// textOf calls a tool and gives the text of its one block, and its flag.
func textOf(t *testing.T, session *mcp.ClientSession, tool, arguments string) (text string, flagged bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if len(result.Content) != 1 {
		t.Fatalf("%s %s: %d blocks", tool, arguments, len(result.Content))
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

func TestMCPLists(t *testing.T) {
	server, _ := libraryServer(t)
	session := inMemory(t, server)
	got := map[string]string{}
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		got[tool.Name] = gjson.GetBytes(schema, "required").Raw
	}
	want := map[string]string{"search_tools": `["query"]`, "load_tool": `["name"]`, "invoke_tool": `["name","arguments"]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools by their required arguments (-want +got):\n%s", diff)
	}
}

func TestMCPSearches(t *testing.T) {
	server, _ := libraryServer(t)
	session := inMemory(t, server)
	for query, best := range map[string]string{
		"borrow a book": "borrowBook", "upload cover picture": "uploadCover", "extend a loan": "renewLoan", "take a book back": "returnBook",
		"search the catalogue": "searchCatalogue", "change a supplier": "updateSupplier", "list overdue loans of a member": "listLoansOfMember",
	} {
		arguments, _ := json.Marshal(map[string]any{"query": query, "limit": 3}) // strings and numbers
		text, flagged := textOf(t, session, "search_tools", string(arguments))
		found := gjson.Get(text, "tools.#.name").Array()
		if flagged || len(found) == 0 || len(found) > 3 || found[0].Str != best {
			t.Errorf("%q finds %v, want %s first", query, found, best)
		}
	}
}

// TestMCPLoads: every operation of the document can be read.
func TestMCPLoads(t *testing.T) {
	operations, err := catalog.FromOpenAPI(library(t), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(operations) < 50 {
		t.Errorf("the document has %d operations, want 50 and more", len(operations))
	}
	server, _ := libraryServer(t)
	session := inMemory(t, server)
	for _, op := range operations {
		text, flagged := textOf(t, session, "load_tool", `{"name":"`+op.Name+`"}`)
		if flagged || gjson.Get(text, "inputSchema.type").Str != "object" || gjson.Get(text, "version").Str == "" {
			t.Errorf("load_tool %s: %s", op.Name, text)
		}
	}
}

func TestMCPInvokes(t *testing.T) {
	server, requests := libraryServer(t)
	listener := httptest.NewServer(server.HTTPHandler())
	t.Cleanup(listener.Close)
	for name, session := range map[string]*mcp.ClientSession{
		"in memory": inMemory(t, server),
		"http":      connected(t, &mcp.StreamableClientTransport{Endpoint: listener.URL, DisableStandaloneSSE: true}),
	} {
		before := len(requests())
		var want []seen
		for _, tc := range []struct {
			call string
			seen seen
		}{
			{`{"name":"getBook","arguments":{"bookId":7}}`, seen{Method: "GET", Target: "/books/7"}},
			{`{"name":"listBooks","arguments":{"pageSize":5,"sort":["name","-created"]}}`, seen{Method: "GET", Target: "/books?pageSize=5&sort=name,-created"}},
			{`{"name":"borrowBook","arguments":{"memberId":3,"bookId":7,"days":14}}`, seen{Method: "POST", Target: "/members/3/loans", ContentType: "application/json", Body: `{"bookId":7,"days":14}`}},
			{`{"name":"renewLoan","arguments":{"loanId":"8d9f2f0e-0000-4000-8000-000000000001","days":7}}`, seen{
				Method: "POST", Target: "/loans/8d9f2f0e-0000-4000-8000-000000000001/renew", ContentType: "application/x-www-form-urlencoded", Body: "days=7"}},
			{`{"name":"get_session","arguments":{"locale":"de"}}`, seen{Method: "GET", Target: "/session", Cookie: "locale=de"}},
			{`{"name":"deleteShelf","arguments":{"shelfId":2}}`, seen{Method: "DELETE", Target: "/shelves/2"}},
		} {
			text, flagged := textOf(t, session, "invoke_tool", tc.call)
			if flagged || text != `{"status":200,"body":{"ok":true}}` {
				t.Errorf("%s: %s: %s", name, tc.call, text)
			}
			want = append(want, tc.seen)
		}
		if diff := cmp.Diff(want, requests()[before:]); diff != "" {
			t.Errorf("%s: what the backend saw (-want +got):\n%s", name, diff)
		}
		for call, code := range map[string]string{
			`{"name":"getBook","arguments":{}}`:                         "missing_path_parameter",
			`{"name":"getBook","arguments":{"bookId":"seven"}}`:         "invalid_path_type",
			`{"name":"tearOutPage","arguments":{}}`:                     "unknown_tool",
			`{"name":"getBook"}`:                                        "unknown_argument",
			`{"name":"getBook","arguments":[]}`:                         "invalid_type",
			`{"name":"getBook","arguments":{"bookId":1,"page":2}}`:      "unknown_argument",
			`{"name":"getBook","arguments":{"bookId":1},"version":"x"}`: "tool_changed",
		} {
			text, flagged := textOf(t, session, "invoke_tool", call)
			if !flagged || gjson.Get(text, "error").Str != code {
				t.Errorf("%s: %s: %s, want %s", name, call, text, code)
			}
		}
	}
}

func TestMCPDocumentThatFails(t *testing.T) {
	_, err := serve.NewMCP(serve.Reference{}, serve.MCPOptions{Document: []byte("swagger: '2.0'"), BackendURL: "http://127.0.0.1:1", Limits: invoke.DefaultLimits()})
	if err == nil || !strings.Contains(err.Error(), "OpenAPI") {
		t.Errorf("an older document gives %v", err)
	}
}
