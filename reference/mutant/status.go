package mutant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// rows are the rows of the status table that name their statuses.
var rows = []struct {
	code     schemas.BackendCode
	id       string
	statuses []int
}{
	{schemas.Unauthenticated, "CODE-02", []int{401}},
	{schemas.Forbidden, "CODE-03", []int{403}},
	{schemas.NotFound, "CODE-04", []int{404, 410}},
	{schemas.Conflict, "CODE-05", []int{409, 412, 428}},
	{schemas.RateLimited, "CODE-06", []int{429}},
	{schemas.BackendUnavailable, "CODE-07", []int{408, 502, 503, 504}},
}

func statusMutants() []Mutant {
	return slices.Concat(tableMutants(), structureMutants(), retryMutants(), messageMutants())
}

// tableMutants lose one status, or one row, of the status table, or put a
// status of the two rows that take the rest into another one.
func tableMutants() []Mutant {
	var all []Mutant
	add := func(requirement, id, doc string, edit func(m *envelope.Mapper)) {
		all = append(all, group(breaks(requirement), mutant(id, doc, mapping(edit)))...)
	}
	for _, row := range rows {
		for _, status := range row.statuses {
			add(row.id, fmt.Sprintf("code-%d-lost", status), fmt.Sprintf("It has no entry for %d.", status),
				func(m *envelope.Mapper) { delete(m.Codes, status) })
		}
		if len(row.statuses) > 1 {
			add(row.id, "code-row-lost-"+hyphened(row.code), fmt.Sprintf("It has no entry for any status of %s.", row.code), func(m *envelope.Mapper) {
				for _, status := range row.statuses {
					delete(m.Codes, status)
				}
			})
		}
	}
	for _, stray := range []struct {
		id       string
		code     schemas.BackendCode
		statuses []int
	}{
		{"CODE-09", schemas.Forbidden, []int{402, 405, 415, 418, 451, 499}},
		{"CODE-09", schemas.Conflict, []int{423}},
		{"CODE-08", schemas.BackendUnavailable, []int{500, 501, 505, 511, 520, 599}},
	} {
		for _, status := range stray.statuses {
			add(stray.id, fmt.Sprintf("code-%d-as-%s", status, hyphened(stray.code)), fmt.Sprintf("It takes %d for %s.", status, stray.code),
				func(m *envelope.Mapper) { m.Codes[status] = stray.code })
		}
	}
	add("CODE-08", "code-server-unavailable", "It takes every other 5xx for backend_unavailable.", func(m *envelope.Mapper) { m.OtherServer = schemas.BackendUnavailable })
	return append(all, group(breaks("CODE-09", "CODE-10"), mutant("code-client-not-found", "It takes every other 4xx for not_found.",
		mapping(func(m *envelope.Mapper) { m.OtherClient = schemas.NotFound })))...)
}

func hyphened(code schemas.BackendCode) string { return strings.ReplaceAll(string(code), "_", "-") }

// structureMutants confuse validation_failed and bad_request.
func structureMutants() []Mutant {
	becoming := func(id, doc string, code schemas.BackendCode, when func(resp envelope.Response, e *schemas.BackendError) bool) Mutant {
		return mutant(id, doc, failing(func(resp envelope.Response, e *schemas.BackendError) {
			if when(resp, e) {
				e.Error = code
			}
		}))
	}
	var never, always []Mutant
	for _, status := range []int{400, 422} {
		never = append(never, becoming(fmt.Sprintf("code-%d-never-validation", status), fmt.Sprintf("It never takes a %d for validation_failed.", status), schemas.BadRequest,
			func(_ envelope.Response, e *schemas.BackendError) bool {
				return e.Status == status && e.Error == schemas.ValidationFailed
			}))
		always = append(always, becoming(fmt.Sprintf("code-%d-always-validation", status), fmt.Sprintf("It takes every %d for validation_failed.", status), schemas.ValidationFailed,
			func(_ envelope.Response, e *schemas.BackendError) bool { return e.Status == status }))
	}
	return append(group(breaks("CODE-01"), never...), group(breaks("CODE-10"), append(always,
		becoming("code-fields-make-validation", "It takes every error with fields for validation_failed.", schemas.ValidationFailed,
			func(_ envelope.Response, e *schemas.BackendError) bool { return len(e.Fields) > 0 }),
		becoming("code-validation-by-title", "It takes a 400 that speaks of validation for validation_failed.", schemas.ValidationFailed,
			func(_ envelope.Response, e *schemas.BackendError) bool {
				return e.Error == schemas.BadRequest && strings.Contains(e.Message, "validation")
			}),
		becoming("code-validation-by-errors-member", "It takes a body with a dictionary for validation_failed, empty or not.", schemas.ValidationFailed,
			func(resp envelope.Response, e *schemas.BackendError) bool {
				body := gjson.ParseBytes(resp.Body)
				return e.Error == schemas.BadRequest && (e.Status == 400 || e.Status == 422) && body.IsObject() && body.Get("errors").IsObject() && body.Get("message").Raw+body.Get("detail").Raw == ""
			}),
		mutant("code-fields-elsewhere-dropped", "It lists fields on 400 and 422 only.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if e.Status != 400 && e.Status != 422 {
				e.Fields = nil
			}
		})),
		mutant("code-fields-on-retryable-dropped", "It lists no fields where a retry is worth it.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if e.Retryable {
				e.Fields = nil
			}
		})),
	)...)...)
}

func retryMutants() []Mutant {
	var all []Mutant
	for _, status := range []int{408, 429, 502, 503, 504} {
		all = append(all, mutant(fmt.Sprintf("retry-%d-lost", status), fmt.Sprintf("It does not take %d for retryable.", status),
			mapping(func(m *envelope.Mapper) {
				m.Retryable = slices.DeleteFunc(m.Retryable, func(s int) bool { return s == status })
			})))
	}
	for _, status := range []int{400, 401, 409, 425, 500, 501, 520} {
		all = append(all, mutant(fmt.Sprintf("retry-%d-added", status), fmt.Sprintf("It takes %d for retryable.", status),
			mapping(func(m *envelope.Mapper) { m.Retryable = append(m.Retryable, status) })))
	}
	return group(breaks("RETRY-01"), append(all,
		mutant("retry-server-errors", "It takes every 5xx for retryable.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			e.Retryable = e.Retryable || e.Status >= 500
		})),
		mutant("retry-never", "It takes nothing for retryable.", failing(func(_ envelope.Response, e *schemas.BackendError) { e.Retryable = false })),
		mutant("retry-needs-retry-after", "It takes a 429 for retryable only where there is a Retry-After.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			e.Retryable = e.Retryable && (e.Status != 429 || e.RetryAfterSeconds != nil)
		})),
		mutant("retry-by-retry-after", "It takes whatever has a Retry-After for retryable.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			e.Retryable = e.Retryable || resp.Header.Get("Retry-After") != ""
		})),
		mutant("retry-not-with-fields", "It takes nothing with fields for retryable.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			e.Retryable = e.Retryable && len(e.Fields) == 0
		})),
	)...)
}

func messageMutants() []Mutant {
	var all []Mutant
	edit := func(id, doc string, code schemas.BackendCode, change func(s envelope.StandardMessage) envelope.StandardMessage) Mutant {
		return mutant(id, doc, mapping(func(m *envelope.Mapper) { m.Messages[code] = change(m.Messages[code]) }))
	}
	codes := []schemas.BackendCode{
		schemas.ValidationFailed, schemas.BadRequest, schemas.Unauthenticated, schemas.Forbidden, schemas.NotFound,
		schemas.Conflict, schemas.RateLimited, schemas.BackendFailed, schemas.BackendUnavailable,
	}
	for _, code := range codes {
		all = append(all, edit("message-letter-"+hyphened(code), fmt.Sprintf("The standard message of %s begins in lower case.", code), code,
			func(s envelope.StandardMessage) envelope.StandardMessage {
				s.Text = strings.ToLower(s.Text[:1]) + s.Text[1:]
				return s
			}))
	}
	for _, fixed := range []struct {
		code   schemas.BackendCode
		status string
	}{{schemas.BadRequest, "400"}, {schemas.Conflict, "409"}, {schemas.BackendFailed, "500"}, {schemas.BackendUnavailable, "503"}} {
		all = append(all, edit("message-status-"+hyphened(fixed.code), fmt.Sprintf("The standard message of %s always says %s.", fixed.code, fixed.status), fixed.code,
			func(s envelope.StandardMessage) envelope.StandardMessage {
				s.Text = strings.ReplaceAll(s.Text, "{status}", fixed.status)
				return s
			}))
	}
	all = append(all,
		edit("message-410", "The message of a 410 says 410.", schemas.NotFound, func(s envelope.StandardMessage) envelope.StandardMessage {
			s.Text = strings.ReplaceAll(s.Text, "404", "{status}")
			return s
		}),
		edit("message-reference-wording", "The sentence about a reference has other words.", schemas.BackendFailed, func(s envelope.StandardMessage) envelope.StandardMessage {
			s.With = " Ref: {reference}."
			return s
		}),
		edit("message-reference-missing", "The message does not quote the reference.", schemas.BackendFailed, func(s envelope.StandardMessage) envelope.StandardMessage {
			s.With = ""
			return s
		}),
		edit("message-reference-unavailable", "The message of a 503 quotes the reference too.", schemas.BackendUnavailable, func(s envelope.StandardMessage) envelope.StandardMessage {
			s.With = " Reference: {reference}."
			return s
		}),
	)
	return append(group(breaks("MESSAGE-01"), all...), group(breaks("MESSAGE-02"),
		mutant("message-no-seconds", "It asks for a retry in 0 seconds where the backend named none.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if e.Message == "The backend is rate-limiting this caller (429)." {
				e.Message += " Retry after 0 seconds."
			}
		})),
		mutant("message-later", "It asks for a retry later where the backend named no seconds.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if e.Message == "The backend is rate-limiting this caller (429)." {
				e.Message += " Retry later."
			}
		})),
		mutant("message-no-reference", "It quotes a reference that it does not have.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if strings.HasSuffix(e.Message, "Details were withheld.") {
				e.Message += " Reference: none."
			}
		})),
		mutant("message-empty-reference", "It quotes an empty reference.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if strings.HasSuffix(e.Message, "Details were withheld.") {
				e.Message += " Reference: ."
			}
		})),
	)...)
}
