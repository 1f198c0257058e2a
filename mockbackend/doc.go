// Package mockbackend is a programmable HTTP backend that says on the wire what
// it is told to, polite or not, and keeps a journal of what it received.
//
// A stub ([schemas.Stub]) matches requests and answers them. Stubs are added in
// Go or over the admin API at /__mock/. What no stub takes goes to ready-made
// routes (/status/{code}, /leak/{class}, /delay/{ms}, /fault/{kind},
// /bytes/{n}) and to a sample API of orders, described at /openapi.json.
//
// Answers that RFC 9110 allows go out through net/http. The others (a body
// after 204, no Content-Length, forbidden bytes in a header, most faults) are
// written byte by byte on a connection taken over from it, which is closed
// afterwards.
//
// The same stubs answer without a socket through [Server.Transport] and
// [NewTransport]; what needs a wire is refused there.
package mockbackend
