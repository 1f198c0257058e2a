// Package mockbackend is a programmable HTTP backend that says on the wire what
// it is told to, polite or not, and keeps a journal of what it received.
//
// A stub ([schemas.Stub]) matches requests and answers them. Stubs are added in
// Go or over the admin API at /__mock/. What no stub takes goes to ready-made
// routes (/status/{code}, /leak/{class}, /delay/{ms}, /fault/{kind},
// /bytes/{n}) and to a sample API of orders, described at /openapi.json.
//
// Stubs may be kept in files, JSON or YAML: [Options.Stubs] are read before the
// server listens, others by [Server.LoadFiles], and [Server.WatchFiles] reads
// them again when they, or the bodies they name, change. A [Recorder] writes
// such files from what a real backend answers, without its secrets: values
// whose names say so, alike in headers, queries, forms, JSON (lines and
// server-sent events too), XML and text, and what looks like a credential. The
// parameters code and key count beside parameters of OAuth or when no human
// wrote their value. Where secrets could not be found, or replaced, an exchange
// is left out with the reason.
//
// Tests that share a server have a [Scope] each. A browser that opens / sees
// what can be called and what was received; the admin API is described at
// /__mock/openapi.json.
//
// Answers that RFC 9110 allows go out through net/http. Over HTTP/1.1 the
// headers that a stub lists keep their order and spelling, and those that come
// by themselves follow; over HTTP/2, and from another http.Server, headers of
// different names have the order of net/http, which means the same (RFC 9110,
// section 5.3). The others (a body after 204, no Content-Length, forbidden bytes
// in a header, the exact bytes asked for with raw, most faults) are
// written byte by byte on a connection taken over from it, which is closed
// afterwards. They need HTTP/1.1: over HTTP/2, which comes with
// [Options.TLS], they are refused with 505 and the reason. To HEAD goes no body,
// so that any Content-Length, or none, is sent the polite way.
//
// A [schemas.StubFault] goes wrong within an exchange, [FaultKinds] says how.
// What goes wrong before there is one (a refused connection, a bad
// certificate, see [ListenerKinds]) is a listener of its own, at
// [Server.FaultyURL]; /fault/{kind} redirects there.
//
// With "template": true, a response is filled in from the request by the
// actions of text/template in its body and header values: .Method, .Target,
// .Path.name (a segment that the stub's path names), .Query "name", .Header
// "Name", .Cookie "name", .JSON (the body, decoded), .Body (as text), .Count
// (the how-manyeth answer of the stub this is), and the functions json, and
// number for numbers with a point.
//
// The same stubs answer without a socket through [Server.Transport] and
// [NewTransport]; what needs a wire is refused there.
package mockbackend
