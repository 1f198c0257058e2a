package schemas

import (
	"bytes"
	"slices"
)

// Clone gives a stub that shares nothing with s.
func (s Stub) Clone() Stub {
	s.Scenario = clonePointer(s.Scenario)
	s.Match = s.Match.clone()
	if s.Respond != nil {
		respond := s.Respond.clone()
		s.Respond = &respond
	}
	if s.Sequence != nil {
		sequence := *s.Sequence
		sequence.Responses = cloneEach(sequence.Responses, StubResponse.clone)
		s.Sequence = &sequence
	}
	return s
}

func (m StubMatch) clone() StubMatch {
	m.Query = cloneMap(m.Query, StubText.clone)
	m.Headers = cloneMap(m.Headers, StubText.clone)
	m.Cookies = cloneMap(m.Cookies, StubText.clone)
	if m.Body != nil {
		body := *m.Body
		body.Equals, body.Subset = bytes.Clone(body.Equals), bytes.Clone(body.Subset)
		body.JSONPath = cloneMap(body.JSONPath, slices.Clone)
		if body.Text != nil {
			text := body.Text.clone()
			body.Text = &text
		}
		m.Body = &body
	}
	return m
}

func (t StubText) clone() StubText {
	t.Equals = slices.Clone(t.Equals)
	t.Absent = clonePointer(t.Absent)
	return t
}

func (r StubResponse) clone() StubResponse {
	r.Headers, r.Omit = slices.Clone(r.Headers), slices.Clone(r.Omit)
	r.JSON, r.Bytes = bytes.Clone(r.JSON), bytes.Clone(r.Bytes)
	r.Text = clonePointer(r.Text)
	r.Interim = cloneEach(r.Interim, func(i StubInterim) StubInterim {
		i.Headers = slices.Clone(i.Headers)
		return i
	})
	if r.Delay != nil {
		delay := *r.Delay
		delay.Uniform, delay.LogNormal, delay.Seed = clonePointer(delay.Uniform), clonePointer(delay.LogNormal), clonePointer(delay.Seed)
		r.Delay = &delay
	}
	if r.Fault != nil {
		fault := *r.Fault
		fault.AfterBytes = clonePointer(fault.AfterBytes)
		r.Fault = &fault
	}
	return r
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func cloneEach[T any](list []T, clone func(T) T) []T {
	list = slices.Clone(list)
	for i, v := range list {
		list[i] = clone(v)
	}
	return list
}

func cloneMap[T any](m map[string]T, clone func(T) T) map[string]T {
	if m == nil {
		return nil
	}
	copied := make(map[string]T, len(m))
	for name, v := range m {
		copied[name] = clone(v)
	}
	return copied
}
