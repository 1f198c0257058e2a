package mockbackend_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// A server in a test is started and closed like one of httptest.
func ExampleStart() {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	closed := "closed for the day"
	id, err := srv.Add(schemas.Stub{
		Match:   schemas.StubMatch{Path: "/orders/{id}"},
		Respond: &schemas.StubResponse{Status: 503, Text: &closed},
	})
	if err != nil {
		panic(err)
	}
	resp, err := srv.Client().Get(srv.URL() + "/orders/7")
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	for _, e := range srv.Journal().Entries(mockbackend.Filter{Stub: id}) {
		fmt.Println(e.Method, e.Target)
	}
	// Output:
	// 503 Service Unavailable
	// GET /orders/7
}

// Without Start the mock is a handler, here of another server.
func ExampleNew() {
	mock := mockbackend.New(mockbackend.Options{})
	defer mock.Close()
	srv := httptest.NewServer(mock)
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL + "/status/404?body=plain")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, string(body), err)
	// Output: 404 Not Found The mock backend was asked for this status. <nil>
}

// Stubs can be written as JSON, and take values from the request.
func ExampleDecodeStub() {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	stub, err := mockbackend.DecodeStub([]byte(`{
		"match": {"method": "GET", "path": "/users/{name}"},
		"respond": {"template": true, "json": {"hello": "{{.Path.name}}"}}
	}`))
	if err != nil {
		panic(err)
	}
	if _, err := srv.Add(stub); err != nil {
		panic(err)
	}
	resp, err := srv.Client().Get(srv.URL() + "/users/ada")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output: {"hello": "ada"} <nil>
}

// Tests that run side by side take a scope each. A client needs to know no more
// than the scope's URL.
func ExampleServer_Scope() {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	for _, name := range []string{"one", "two"} {
		scope := srv.Scope(name)
		if _, err := scope.Add(schemas.Stub{Match: schemas.StubMatch{Path: "/who"}, Respond: &schemas.StubResponse{Text: &name}}); err != nil {
			panic(err)
		}
	}
	for _, scope := range srv.Scopes() {
		resp, err := srv.Client().Get(scope.URL() + "/who")
		if err != nil {
			panic(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(string(body), err, len(scope.Journal().Entries(mockbackend.Filter{})))
		srv.DropScope(scope.Key())
	}
	// Output:
	// one <nil> 1
	// two <nil> 1
}

// A test waits for a request in place of sleeping: here for the client to give
// up on an answer that stalls.
func ExampleServer_Wait() {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(short, "GET", srv.URL()+"/fault/stall-after-headers", nil)
		if err != nil {
			panic(err)
		}
		if resp, err := srv.Client().Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	entries, err := srv.Wait(ctx, mockbackend.Filter{ClientEnded: true}, 1)
	if err != nil {
		panic(err)
	}
	<-gone
	fmt.Println(entries[0].Path, entries[0].Sent.Fault)
	// Output: /fault/stall-after-headers stall-after-headers
}

// The same stubs answer without a socket.
func ExampleNewTransport() {
	teapot := "short and stout"
	transport, err := mockbackend.NewTransport(schemas.Stub{Respond: &schemas.StubResponse{Status: 418, Text: &teapot}})
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: transport}
	resp, err := client.Get("https://backend.example/any/path")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body), err)

	// What needs a connection is refused, with the place in the stub.
	_, err = mockbackend.NewTransport(schemas.Stub{Respond: &schemas.StubResponse{Fault: &schemas.StubFault{Kind: "reset"}}})
	fmt.Println(err)
	// Output:
	// 418 short and stout <nil>
	// stub /respond/fault: reset needs a connection; the in-process transport has none
}

// Faults of a listener have a URL of their own.
func ExampleServer_FaultyURL() {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	url, err := srv.FaultyURL("refuse")
	if err != nil {
		panic(err)
	}
	_, err = srv.Client().Get(url)
	fmt.Println(err != nil)
	url, err = srv.FaultyURL("no such fault")
	fmt.Println(url, errors.Unwrap(err) == nil, err)
	// Output:
	// true
	//  true the listener fault "no such fault" is not known; known are refuse, silent, tls-expired, tls-slow-handshake, tls-wrong-name
}
