// Package mockbackend is a programmable HTTP backend that says on the wire what
// it is told to, polite or not, and keeps a journal of what it received.
//
// A stub ([schemas.Stub]) matches requests and answers them. Stubs are added in
// Go or over the admin API at /__mock/. What no stub takes goes to ready-made
// routes (/status/{code}, /leak/{class}, /delay/{ms}, /fault/{kind},
// /bytes/{n}) and to a sample API of orders, described at /openapi.json.
//
// Stubs may be kept in files, JSON or YAML: [Server.LoadFiles] reads them, and
// [Server.WatchFiles] again when they change. A [Recorder] writes such files
// from what a real backend answers, without its secrets. Tests that share a
// server have a [Scope] each. A browser that opens / sees what can be called
// and what was received; the admin API is described at /__mock/openapi.json.
//
// Answers that RFC 9110 allows go out through net/http. The others (a body
// after 204, no Content-Length, forbidden bytes in a header, most faults) are
// written byte by byte on a connection taken over from it, which is closed
// afterwards.
//
// The same stubs answer without a socket through [Server.Transport] and
// [NewTransport]; what needs a wire is refused there.
package mockbackend
