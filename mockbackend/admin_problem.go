package mockbackend

import (
	"encoding/json"
	"errors"
	"net/http"
)

// problemBase is what the type URIs of the admin API's problems begin with.
const problemBase = "https://touchstone.example.com/problems/"

// A problemType is a kind of refusal of the admin API (RFC 9457): the type is
// for programs, the title for people.
type problemType struct {
	name   string
	status int
	title  string
}

var (
	problemMalformed = problemType{"malformed-body", http.StatusBadRequest, "The body cannot be read as stubs"}
	problemInvalid   = problemType{"invalid-stub", http.StatusUnprocessableEntity, "A stub cannot be used"}
	problemTaken     = problemType{"stub-id-taken", http.StatusConflict, "The id of a stub is in use"}
	problemTooLarge  = problemType{"body-too-large", http.StatusRequestEntityTooLarge, "The body is too large"}
	problemParameter = problemType{"invalid-parameter", http.StatusBadRequest, "A parameter cannot be used"}
	problemTimeout   = problemType{"wait-timeout", http.StatusRequestTimeout, "The requests waited for did not come"}
	problemNoStub    = problemType{"no-such-stub", http.StatusNotFound, "There is no such stub"}
	problemNoEntry   = problemType{"no-such-entry", http.StatusNotFound, "There is no such journal entry"}
	problemScope     = problemType{"no-scope", http.StatusBadRequest, "The request belongs to no scope"}
	problemNoScope   = problemType{"no-such-scope", http.StatusNotFound, "There is no such scope"}
	problemRoute     = problemType{"no-such-route", http.StatusNotFound, "There is no such route"}
	problemMethod    = problemType{"method-not-allowed", http.StatusMethodNotAllowed, "The method is not possible here"}
	problemToken     = problemType{"token-required", http.StatusUnauthorized, "A token is required"}
	problemForeign   = problemType{"foreign-request", http.StatusForbidden, "The request comes from another site"}
)

// refusal is a problem of one of the admin API's types. more are extension
// members.
func refusal(t problemType, detail string, more map[string]any) *reply {
	doc := map[string]any{"type": problemBase + t.name, "title": t.title, "status": t.status, "detail": detail}
	for name, value := range more {
		doc[name] = value
	}
	body, err := json.Marshal(doc)
	if err != nil {
		panic("mockbackend: problem details: " + err.Error()) // our own values
	}
	return newReply(t.status, "application/problem+json", body)
}

// stubRefusal says what is wrong in stubs that came as a body, and where: the
// first mistake in pointer and detail, all of them in errors.
func stubRefusal(err error) *reply {
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	kind := problemInvalid
	var list []ordered
	more := map[string]any{}
	for _, err := range errs {
		at, ok := errors.AsType[*SourceError](err)
		if !ok {
			continue
		}
		switch taken, ok := errors.AsType[*takenError](err); {
		case ok && taken.beside:
		case ok:
			kind = problemTaken
		case !at.inStub:
			kind = problemMalformed
		}
		list = append(list, ordered{{"pointer", at.Pointer}, {"line", at.Line}, {"detail", at.Err.Error()}})
		if _, have := more["pointer"]; !have {
			more["pointer"] = at.Pointer
		}
	}
	more["errors"] = list
	return refusal(kind, err.Error(), more)
}
