package mockbackend

import (
	"fmt"
	"net/http"

	"example.com/touchstone/schemas"
)

var problemModel = problemType{"invalid-script", http.StatusUnprocessableEntity, "The script of the model cannot be used"}

// getModel tells the script and how far it is played.
func getModel(_ *Server, w http.ResponseWriter, r *http.Request) {
	m := &scopeFrom(r).model
	m.mu.Lock()
	turns := make([]schemas.ModelTurn, len(m.turns))
	for i, turn := range m.turns {
		turns[i] = turn.ModelTurn
	}
	doc := ordered{{"turns", turns}, {"played", m.next}, {"requests", m.requests}}
	m.mu.Unlock()
	writeReply(w, jsonReply(http.StatusOK, doc))
}

func putModel(_ *Server, w http.ResponseWriter, r *http.Request) {
	data, refused := readAdminBody(w, r)
	if refused != nil {
		writeReply(w, refused)
		return
	}
	script, err := decodeScript(data)
	if err == nil {
		err = scopeFrom(r).SetModel(script)
	}
	if err != nil {
		writeReply(w, refusal(problemModel, err.Error(), nil))
		return
	}
	noContent(w)
}

func removeModel(_ *Server, w http.ResponseWriter, r *http.Request) {
	scopeFrom(r).model.set(nil, nil)
	noContent(w)
}

func releaseModel(_ *Server, w http.ResponseWriter, r *http.Request) {
	p := parametersOf(r)
	if p.only("hold"); p.refused(w) {
		return
	}
	name := p.query.Get("hold")
	if !scopeFrom(r).ReleaseModel(name) {
		writeReply(w, refusal(problemParameter, fmt.Sprintf("The script has no turn that holds until %q is released; give the name as ?hold=.", name), map[string]any{"parameter": "hold"}))
		return
	}
	noContent(w)
}
