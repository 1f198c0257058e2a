package mockbackend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"example.com/touchstone/schemas"
)

// adminPrefix is the path below which the admin API lives; no stub answers
// there, and the journal does not record it.
const adminPrefix = "/__mock/"

// maxAdminBody bounds one admin request.
const maxAdminBody = 16 << 20

func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /__mock/stubs", func(w http.ResponseWriter, _ *http.Request) {
		writeReply(w, jsonReply(http.StatusOK, map[string]any{"stubs": s.Stubs()}))
	})
	mux.HandleFunc("POST /__mock/stubs", s.adminAdd)
	mux.HandleFunc("DELETE /__mock/stubs", func(w http.ResponseWriter, _ *http.Request) {
		s.index.clear()
		writeReply(w, newReply(http.StatusNoContent, "", nil))
	})
	mux.HandleFunc("GET /__mock/stubs/{id}", func(w http.ResponseWriter, r *http.Request) {
		found := s.index.get(r.PathValue("id"))
		if found == nil {
			writeReply(w, problem(http.StatusNotFound, fmt.Sprintf("There is no stub %q.", r.PathValue("id")), nil))
			return
		}
		writeReply(w, jsonReply(http.StatusOK, found.Stub))
	})
	mux.HandleFunc("DELETE /__mock/stubs/{id}", func(w http.ResponseWriter, r *http.Request) {
		if !s.Remove(r.PathValue("id")) {
			writeReply(w, problem(http.StatusNotFound, fmt.Sprintf("There is no stub %q.", r.PathValue("id")), nil))
			return
		}
		writeReply(w, newReply(http.StatusNoContent, "", nil))
	})
	mux.HandleFunc("GET /__mock/journal", func(w http.ResponseWriter, r *http.Request) {
		f, err := parseFilter(r.URL.Query())
		if err != nil {
			writeReply(w, problem(http.StatusBadRequest, err.Error(), nil))
			return
		}
		s.writeEntries(w, s.journal.Entries(f), nil)
	})
	mux.HandleFunc("DELETE /__mock/journal", func(w http.ResponseWriter, _ *http.Request) {
		s.journal.Clear()
		writeReply(w, newReply(http.StatusNoContent, "", nil))
	})
	mux.HandleFunc("POST /__mock/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		writeReply(w, newReply(http.StatusNoContent, "", nil))
	})
	mux.HandleFunc("GET /__mock/wait", s.adminWait)
	mux.HandleFunc(adminPrefix, func(w http.ResponseWriter, r *http.Request) {
		writeReply(w, problem(http.StatusNotFound, fmt.Sprintf("The admin API has no %s %s; it has stubs, journal, reset and wait.", r.Method, r.URL.Path), nil))
	})
	return mux
}

// writeReply ignores a failed write: it means that the client has left.
func writeReply(w http.ResponseWriter, r *reply) { _, _ = r.send(w, false) }

// adminAdd takes one stub, or a list that is added in whole or not at all.
func (s *Server) adminAdd(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	if err != nil {
		writeReply(w, problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("The body cannot be read (at most %d bytes).", maxAdminBody), nil))
		return
	}
	texts, isList := []json.RawMessage{data}, bytes.HasPrefix(bytes.TrimSpace(data), []byte("["))
	if isList {
		if err := json.Unmarshal(data, &texts); err != nil {
			writeReply(w, problem(http.StatusBadRequest, "The body is not JSON: "+err.Error(), nil))
			return
		}
	}
	ids := []string{}
	for i, text := range texts {
		id, err := s.addJSON(text)
		if err != nil {
			for _, added := range ids {
				s.Remove(added)
			}
			writeReply(w, stubProblem(err, i, isList))
			return
		}
		ids = append(ids, id)
	}
	if isList {
		writeReply(w, jsonReply(http.StatusCreated, map[string]any{"ids": ids}))
		return
	}
	writeReply(w, jsonReply(http.StatusCreated, map[string]any{"id": ids[0]}, schemas.StubHeader{Name: "Location", Value: adminPrefix + "stubs/" + ids[0]}))
}

func (s *Server) addJSON(text []byte) (string, error) {
	in, err := DecodeStub(text)
	if err != nil {
		return "", err
	}
	return s.Add(in)
}

// stubProblem says what is wrong in a stub and where.
func stubProblem(err error, i int, isList bool) *reply {
	more := map[string]any{}
	if bad, ok := errors.AsType[*InvalidStubError](err); ok {
		more["pointer"] = bad.Pointer
		if isList {
			more["pointer"] = fmt.Sprintf("/%d%s", i, bad.Pointer)
		}
	}
	return problem(http.StatusUnprocessableEntity, err.Error(), more)
}

const (
	defaultWait = 10 * time.Second
	maxWait     = 10 * time.Minute
)

// adminWait answers once n requests match, or 408 with those that do.
func (s *Server) adminWait(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	n, timeout := 1, defaultWait
	for _, p := range []struct {
		name string
		max  int64
		set  func(int64)
	}{
		{"n", int64(s.opts.JournalEntries), func(v int64) { n = int(v) }},
		{"timeoutMs", maxWait.Milliseconds(), func(v int64) { timeout = milliseconds(int(v)) }},
	} {
		if text := query.Get(p.name); text != "" {
			v, err := strconv.ParseInt(text, 10, 32)
			if err != nil || v < 1 || v > p.max {
				writeReply(w, problem(http.StatusBadRequest, fmt.Sprintf("%s is %q; give a number from 1 to %d.", p.name, text, p.max), nil))
				return
			}
			p.set(v)
		}
		query.Del(p.name)
	}
	f, err := parseFilter(query)
	if err != nil {
		writeReply(w, problem(http.StatusBadRequest, err.Error(), nil))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	entries, err := s.journal.Wait(ctx, f, n)
	s.writeEntries(w, entries, err)
}

func (s *Server) writeEntries(w http.ResponseWriter, entries []Entry, waitErr error) {
	if entries == nil {
		entries = []Entry{}
	}
	more := map[string]any{"entries": entries, "dropped": s.journal.Dropped()}
	if waitErr != nil {
		writeReply(w, problem(http.StatusRequestTimeout, waitErr.Error(), more))
		return
	}
	writeReply(w, jsonReply(http.StatusOK, more))
}

// parseFilter reads a filter from a query; what it does not know is an error.
func parseFilter(query url.Values) (Filter, error) {
	var f Filter
	for name, values := range query {
		value := values[0]
		var err error
		switch name {
		case "stub":
			f.Stub = value
		case "method":
			f.Method = value
		case "path":
			f.Path = value
		case "after":
			f.After, err = strconv.ParseUint(value, 10, 64)
		case "done":
			f.Done, err = strconv.ParseBool(value)
		case "clientEnded":
			f.ClientEnded, err = strconv.ParseBool(value)
		case "missed":
			f.Missed, err = strconv.ParseBool(value)
		default:
			return f, fmt.Errorf("the filter %q is not known; known are stub, method, path, after, done, clientEnded, missed", name)
		}
		if err != nil {
			return f, fmt.Errorf("the filter %s=%q: %w", name, value, err)
		}
	}
	return f, nil
}
