package mockbackend

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"example.com/touchstone/schemas"
)

// adminPrefix is the path below which the admin API lives; no stub answers
// there, and the journal does not record it.
const adminPrefix = "/__mock/"

// maxAdminBody bounds one admin request.
const maxAdminBody = 16 << 20

// adminOpenAPI describes the admin API.
//
//go:embed admin_openapi.json
var adminOpenAPI []byte

// adminRoutes are the operations of the admin API, by path below the prefix and
// method. Each works on the scope that its request belongs to.
var adminRoutes = map[string]map[string]func(*Server, http.ResponseWriter, *http.Request){
	"stubs":            {"GET": listStubs, "POST": addStubs, "DELETE": removeStubs},
	"stubs/{id}":       {"GET": getStub, "PUT": putStub, "DELETE": removeStub},
	"journal":          {"GET": listEntries, "DELETE": clearJournal},
	"journal/{seq}":    {"GET": getEntry},
	"wait":             {"GET": waitForEntries},
	"events":           {"GET": streamEvents},
	"reset":            {"POST": resetScope},
	"scopes":           {"GET": listScopes},
	"scopes/{key}":     {"DELETE": dropScope},
	"faults":           {"GET": listFaults},
	"model":            {"GET": getModel, "PUT": putModel, "DELETE": removeModel},
	"model/release":    {"POST": releaseModel},
	"stub.schema.json": {"GET": serveFile(stubSchema())},
	"openapi.json":     {"GET": serveFile(adminOpenAPI)},
}

// withParameters are the operations that read parameters of the query. To ignore
// those of another one would do more than was meant: a DELETE with a filter
// removes all.
var withParameters = []string{"GET journal", "GET wait", "POST model/release"}

func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	for route, methods := range adminRoutes {
		for method, serve := range methods {
			takes := slices.Contains(withParameters, method+" "+route)
			mux.HandleFunc(method+" "+adminPrefix+route, func(w http.ResponseWriter, r *http.Request) {
				p := parametersOf(r)
				if !takes {
					p.only()
				}
				if !p.refused(w) {
					serve(s, w, r)
				}
			})
		}
		allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		mux.HandleFunc(adminPrefix+route, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allowed)
			writeReply(w, refusal(problemMethod, fmt.Sprintf("%s is not possible here; possible are %s.", r.Method, allowed), nil))
		})
	}
	for from, location := range map[string]string{adminPrefix + "{$}": "openapi.json", strings.TrimSuffix(adminPrefix, "/"): "__mock/openapi.json"} {
		mux.HandleFunc("GET "+from, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location) // relative: the path may begin with that of a scope
			w.WriteHeader(http.StatusFound)
		})
	}
	mux.HandleFunc(adminPrefix, func(w http.ResponseWriter, r *http.Request) {
		writeReply(w, refusal(problemRoute, fmt.Sprintf("The admin API has no %s. It is described at %sopenapi.json.", r.URL.Path, adminPrefix), nil))
	})
	return s.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sent := r.URL.EscapedPath(); sent != cleanPath(sent) {
			// The multiplexer would redirect to the clean path, without the scope.
			writeReply(w, refusal(problemRoute, fmt.Sprintf("The admin API has no %s; did you mean %s?", sent, cleanPath(sent)), nil))
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// cleanPath is a path as [http.ServeMux] wants it.
func cleanPath(p string) string {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// writeReply ignores a failed write: it means that the client has left.
func writeReply(w http.ResponseWriter, r *reply) { _, _ = r.send(w, false) }

func noContent(w http.ResponseWriter) {
	writeReply(w, newReply(http.StatusNoContent, "", nil))
}

func serveFile(data []byte) func(*Server, http.ResponseWriter, *http.Request) {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request) {
		writeReply(w, newReply(http.StatusOK, "application/json", data))
	}
}

func stubSchema() []byte {
	f, err := schemas.FS().Open(string(schemas.StubSchema))
	if err != nil {
		panic("mockbackend: " + err.Error()) // it is embedded
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		panic("mockbackend: " + err.Error())
	}
	return data
}

func listStubs(_ *Server, w http.ResponseWriter, r *http.Request) {
	writeReply(w, jsonReply(http.StatusOK, map[string]any{"stubs": scopeFrom(r).Stubs()}))
}

func removeStubs(_ *Server, w http.ResponseWriter, r *http.Request) {
	scopeFrom(r).RemoveAll()
	noContent(w)
}

func getStub(_ *Server, w http.ResponseWriter, r *http.Request) {
	found, ok := scopeFrom(r).Stub(r.PathValue("id"))
	if !ok {
		writeReply(w, noStub(r))
		return
	}
	writeReply(w, jsonReply(http.StatusOK, found))
}

func removeStub(_ *Server, w http.ResponseWriter, r *http.Request) {
	if !scopeFrom(r).Remove(r.PathValue("id")) {
		writeReply(w, noStub(r))
		return
	}
	noContent(w)
}

func noStub(r *http.Request) *reply {
	return refusal(problemNoStub, fmt.Sprintf("There is no stub %q; the stubs are listed at %sstubs.", r.PathValue("id"), adminPrefix), nil)
}

// readStubs reads stubs from a request's body, in the forms that a file of
// stubs has.
func readStubs(w http.ResponseWriter, r *http.Request) ([]FileStub, *reply) {
	data, refused := readAdminBody(w, r)
	if refused != nil {
		return nil, refused
	}
	name := "body.json"
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); strings.HasSuffix(mediaType, "yaml") {
		name = "body.yaml"
	}
	list, err := ReadStubs(name, data)
	switch text := bytes.TrimSpace(data); {
	case err == nil:
		return list, nil
	case name == "body.json" && !bytes.HasPrefix(text, []byte("{")) && !bytes.HasPrefix(text, []byte("[")):
		return nil, refusal(problemMalformed, err.Error()+". YAML is taken too, with Content-Type: application/yaml.", nil)
	}
	return nil, stubRefusal(err)
}

func readAdminBody(w http.ResponseWriter, r *http.Request) ([]byte, *reply) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	if err == nil {
		return data, nil
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, refusal(problemTooLarge, fmt.Sprintf("The body has more than %d bytes.", maxAdminBody), nil)
	}
	return nil, refusal(problemMalformed, "The body broke off: "+err.Error(), nil)
}

// compileAll makes stubs ready, and says of all that cannot be what is wrong.
func compileAll(c *Scope, list []FileStub) ([]*stub, *reply) {
	made := make([]*stub, len(list))
	var wrong []error
	for i, f := range list {
		var err error
		if made[i], err = c.compile(f.Stub); err != nil {
			wrong = append(wrong, f.fail(err))
		}
	}
	if len(wrong) > 0 {
		return nil, stubRefusal(errors.Join(wrong...))
	}
	return made, nil
}

// addStubs takes one stub, or a list that is added in whole or not at all.
func addStubs(_ *Server, w http.ResponseWriter, r *http.Request) {
	list, refused := readStubs(w, r)
	if refused != nil {
		writeReply(w, refused)
		return
	}
	scope := scopeFrom(r)
	made, refused := compileAll(scope, list)
	if refused != nil {
		writeReply(w, refused)
		return
	}
	if err := scope.index.replace(nil, made...); err != nil {
		writeReply(w, stubRefusal(inFile(err, list)))
		return
	}
	if len(list) == 1 && list[0].pointer == "" {
		id := made[0].ID
		// The location is relative: the path may begin with that of a scope.
		writeReply(w, jsonReply(http.StatusCreated, map[string]any{"id": id}, schemas.StubHeader{Name: "Location", Value: "stubs/" + id}))
		return
	}
	ids := make([]string, len(made))
	for i, one := range made {
		ids[i] = one.ID
	}
	writeReply(w, jsonReply(http.StatusCreated, map[string]any{"ids": ids}))
}

// putStub puts a stub in the place of the one with the id, or adds it.
func putStub(_ *Server, w http.ResponseWriter, r *http.Request) {
	list, refused := readStubs(w, r)
	if refused != nil {
		writeReply(w, refused)
		return
	}
	id := r.PathValue("id")
	if len(list) != 1 || list[0].ID != "" && list[0].ID != id {
		writeReply(w, refusal(problemMalformed, fmt.Sprintf("The body must be one stub, with the id %q or none.", id), nil))
		return
	}
	if _, err := DecodeStub(mustJSON(ordered{{"id", id}, {"match", ordered{}}, {"respond", ordered{}}})); err != nil {
		writeReply(w, stubRefusal(list[0].fail(err)))
		return
	}
	list[0].ID = id
	scope := scopeFrom(r)
	made, refused := compileAll(scope, list)
	if refused != nil {
		writeReply(w, refused)
		return
	}
	status, out := http.StatusCreated, []*stub(nil)
	if old := scope.index.get(id); old != nil {
		status, out = http.StatusOK, []*stub{old}
	}
	if err := scope.index.replace(out, made...); err != nil {
		writeReply(w, stubRefusal(inFile(err, list))) // another request was faster
		return
	}
	writeReply(w, jsonReply(status, map[string]any{"id": id}))
}

func resetScope(_ *Server, w http.ResponseWriter, r *http.Request) {
	scopeFrom(r).Reset()
	noContent(w)
}

func listScopes(s *Server, w http.ResponseWriter, _ *http.Request) {
	list := []ordered{}
	for _, c := range s.Scopes() {
		list = append(list, ordered{{"key", c.Key()}, {"stubs", len(c.Stubs())}, {"requests", c.Journal().Last()}})
	}
	writeReply(w, jsonReply(http.StatusOK, map[string]any{"scopes": list}))
}

func dropScope(s *Server, w http.ResponseWriter, r *http.Request) {
	if !s.DropScope(r.PathValue("key")) {
		writeReply(w, refusal(problemNoScope, fmt.Sprintf("There is no scope %q; the default one can be reset, not dropped.", r.PathValue("key")), nil))
		return
	}
	noContent(w)
}

func listFaults(_ *Server, w http.ResponseWriter, _ *http.Request) {
	writeReply(w, jsonReply(http.StatusOK, map[string]any{"faults": FaultKinds(), "listeners": ListenerKinds()}))
}
