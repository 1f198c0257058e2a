// Package schemas is Touchstone's wire contract: JSON Schemas (draft-07,
// embedded) and the Go types that go with them.
//
// It describes the three envelopes of an invocation, the files a corpus is made
// of, the JSON-RPC 2.0 messages between the suite and a target, the mock
// backend's stubs and the certificate. It imports nothing else of the project,
// so that both the suite and the implementations it judges can share it without
// sharing code that decides anything.
package schemas
