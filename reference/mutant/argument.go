package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// headerArgumentMutants take header values otherwise (SDK-08).
func headerArgumentMutants() []Mutant {
	headers := func(t *compose.Template, arguments []byte, edit func(string) string) []byte {
		for _, p := range t.Parameters {
			v := gjson.GetBytes(arguments, escapePath(p.Name))
			switch {
			case p.In != compose.InHeader:
			case v.Type == gjson.String:
				arguments = setArgument(arguments, p.Name, edit(v.Str))
			case v.IsArray():
				var texts []string
				for _, e := range v.Array() {
					texts = append(texts, edit(e.Str))
				}
				arguments = setArgument(arguments, p.Name, texts)
			}
		}
		return arguments
	}
	without := func(id, cut string) Mutant {
		return mutant("header-injection-"+id, "It takes the "+id+" out of a header value and sends the rest.", repairing(func(t *compose.Template, arguments []byte) []byte {
			return headers(t, arguments, func(s string) string { return strings.ReplaceAll(s, cut, "") })
		}))
	}
	refuse := func(id, mark string) Mutant {
		return mutant("header-"+id+"-refused", "It refuses a "+id+" in a header value.", refusingWhen(compose.CodeHeaderInjection, func(_ *compose.Template, a gjson.Result) bool {
			return strings.Contains(a.Get("X-Trace-Tag").Str, mark)
		}))
	}
	return called(breaks("SDK-08"), without("cr", "\r"), without("lf", "\n"), without("nul", "\x00"),
		mutant("header-elements-unchecked", "It does not check the elements of a header's list.", repairing(func(t *compose.Template, arguments []byte) []byte {
			if !gjson.GetBytes(arguments, "X-Tag").IsArray() {
				return arguments
			}
			return headers(t, arguments, strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace)
		})),
		refuse("tab", "\t"), refuse("percent", "%"), refuse("colon", ":"))
}

// cookieMutants take cookies otherwise (SDK-09, SDK-10).
func cookieMutants() []Mutant {
	var nine []Mutant
	for _, c := range []struct{ id, char string }{
		{"space", " "}, {"quote", `"`}, {"comma", ","}, {"semicolon", ";"}, {"backslash", `\`}, {"control", "\x01"}, {"tab", "\t"}, {"line-feed", "\n"}, {"delete", "\x7f"},
	} {
		nine = append(nine, mutant("cookie-"+c.id+"-dropped", "It takes a "+c.id+" out of a cookie value and sends the rest.", repairing(func(t *compose.Template, arguments []byte) []byte {
			if parameterIn(t, "view") != compose.InCookie {
				return arguments
			}
			return setArgument(arguments, "view", strings.ReplaceAll(gjson.GetBytes(arguments, "view").Str, c.char, ""))
		})))
	}
	nine = append(nine, mutant("cookie-percent-refused", "It refuses a percent sign in a cookie value.", refusingWhen(compose.CodeInvalidCookieValue, func(_ *compose.Template, a gjson.Result) bool {
		return strings.Contains(a.Get("view").Str, "%")
	})))
	carried := func(t *compose.Template, cookies string) (name string, found bool) {
		for _, p := range t.Parameters {
			if p.In == compose.InCookie && slices.ContainsFunc(strings.Split(cookies, "; "), func(c string) bool { return strings.HasPrefix(c, p.Name+"=") }) {
				return p.Name, true
			}
		}
		return "", false
	}
	return slices.Concat(called(breaks("SDK-09"), nine...), called(breaks("SDK-10"),
		mutant("cookie-agent-wins", "It lets an argument override the caller's cookie.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			if name, found := carried(t, call.CarrierCookies); found && gjson.GetBytes(call.Arguments, name).Exists() {
				call.CarrierCookies = strings.Join(slices.DeleteFunc(strings.Split(call.CarrierCookies, "; "), func(c string) bool { return strings.HasPrefix(c, name+"=") }), "; ")
			}
			return was(t, call)
		})),
		mutant("cookie-caller-wins", "It drops an argument in favour of the caller's cookie.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			if name, found := carried(t, call.CarrierCookies); found {
				call.Arguments = deleteArgument(call.Arguments, name)
			}
			return was(t, call)
		})),
		mutant("cookie-prefix-collides", "It takes a cookie whose name begins the same for the same.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			if strings.HasPrefix(call.CarrierCookies, "sid") && gjson.GetBytes(call.Arguments, "sid").Exists() {
				return nil, &compose.Refusal{Code: compose.CodeCookieCarrierCollision, Message: "The cookie is the caller's."}
			}
			return was(t, call)
		})),
		mutant("cookie-of-caller-lost", "It drops the caller's cookies when there is an argument.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			if _, found := carried(t, call.CarrierCookies); !found && parameterIn(t, "sid")+parameterIn(t, "lang") != "" {
				call.CarrierCookies = ""
			}
			return was(t, call)
		})),
	))
}

// deferredMutants give away values of the host (SDK-11).
func deferredMutants() []Mutant {
	isDeferred := func(r *compose.Refusal) bool {
		return r.Code == compose.CodeDeferredValueMissing || r.Code == compose.CodeDeferredValueInvalid
	}
	return called(breaks("SDK-11"),
		mutant("deferred-source-named", "It names the source of a host's value.", rewording(func(r *compose.Refusal, _ *compose.Template) {
			if isDeferred(r) {
				r.Message += " Source: tenantId."
			}
		})),
		mutant("deferred-value-told", "It quotes the host's value that cannot be used.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			request, err := was(t, call)
			var refused *compose.Refusal
			if errors.As(err, &refused) && refused.Code == compose.CodeDeferredValueInvalid {
				value, _ := json.Marshal(call.Deferred) // raw JSON
				told := *refused
				told.Message += " Got " + strings.ReplaceAll(string(value), "tenantId", "it") + "."
				return nil, &told
			}
			return request, err
		})),
		mutant("deferred-invalid-as-text", "It sends a value of the host as text, whatever it is.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			for source, value := range call.Deferred {
				if len(value) > 0 && value[0] != '"' {
					call.Deferred[source] = json.RawMessage(quote(string(value)))
				}
			}
			return was(t, call)
		})),
		mutant("deferred-missing-empty", "It sends a dash for a value that the host could not give.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			if parameterIn(t, "tenantId") != "" && len(call.Deferred) == 0 {
				call.Deferred = map[string]json.RawMessage{"tenantId": json.RawMessage(`"-"`)}
			}
			return was(t, call)
		})),
	)
}

// fileMutants take files otherwise (SDK-12 to SDK-14).
func fileMutants() []Mutant {
	repair := func(id, doc string, edit func(file gjson.Result, raw []byte) []byte) Mutant {
		return mutant("file-"+id, doc, repairing(func(_ *compose.Template, arguments []byte) []byte {
			file := gjson.GetBytes(arguments, "file")
			if !file.Exists() {
				return arguments
			}
			out := edit(file, []byte(file.Raw))
			return setArgument(arguments, "file", json.RawMessage(out))
		}))
	}
	base64 := func(edit func(string) string) func(gjson.Result, []byte) []byte {
		return func(file gjson.Result, raw []byte) []byte {
			if v := file.Get("base64"); v.Type == gjson.String {
				return setArgument(raw, "base64", edit(v.Str))
			}
			return raw
		}
	}
	name := func(id, mark string) Mutant {
		return repair("name-"+id+"-dropped", "It takes a "+id+" out of a filename.", func(file gjson.Result, raw []byte) []byte {
			if v := file.Get("name"); v.Type == gjson.String {
				return setArgument(raw, "name", strings.ReplaceAll(v.Str, mark, ""))
			}
			return raw
		})
	}
	refuse := func(id, doc string, odd func(file gjson.Result) bool) Mutant {
		return mutant("file-"+id, doc, refusingWhen(compose.CodeInvalidFileArgument, func(_ *compose.Template, a gjson.Result) bool { return odd(a.Get("file")) }))
	}
	twelve := called(breaks("SDK-12"),
		repair("first-source", "It takes the first of two sources.", func(file gjson.Result, raw []byte) []byte {
			if file.Get("text").Exists() && file.Get("base64").Exists() {
				return deleteArgument(raw, "base64")
			}
			return raw
		}),
		repair("no-source-empty", "It takes a file without a source for an empty one.", func(file gjson.Result, raw []byte) []byte {
			if file.IsObject() && !file.Get("text").Exists() && !file.Get("base64").Exists() && !file.Get("ref").Exists() {
				return setArgument(raw, "text", "")
			}
			return raw
		}),
		repair("url-safe-taken", "It takes the URL-safe alphabet.", base64(strings.NewReplacer("-", "+", "_", "/").Replace)),
		repair("white-space-taken", "It takes white space in base64.", base64(strings.NewReplacer(" ", "", "\n", "").Replace)),
		repair("no-padding-taken", "It takes base64 without its padding.", base64(func(s string) string {
			if !strings.Contains(s, "=") && len(s)%4 != 0 && !strings.ContainsAny(s, " \n-_*") {
				return s + strings.Repeat("=", 4-len(s)%4)
			}
			return s
		})),
		repair("bad-letter-dropped", "It skips what is no base64.", base64(func(s string) string {
			if strings.Contains(s, "*") {
				return "YWJj"
			}
			return s
		})),
		name("quote", `"`), name("cr", "\r"), name("lf", "\n"), name("nul", "\x00"), name("slash", "/"), name("backslash", `\`),
		repair("name-empty-taken", "It takes an empty filename for none.", func(file gjson.Result, raw []byte) []byte {
			if v := file.Get("name"); v.Exists() && v.Str == "" {
				return deleteArgument(raw, "name")
			}
			return raw
		}),
		repair("unknown-key-dropped", "It drops an unknown key of a file.", func(_ gjson.Result, raw []byte) []byte { return deleteArgument(raw, "size") }),
		repair("text-number-taken", "It writes a number where a file's text is due.", func(file gjson.Result, raw []byte) []byte {
			if v := file.Get("text"); v.Type == gjson.Number {
				return setArgument(raw, "text", v.Raw)
			}
			return raw
		}),
		repair("plain-taken", "It takes a string for a file with that text.", func(file gjson.Result, raw []byte) []byte {
			if file.Type == gjson.String {
				return setArgument([]byte("{}"), "text", file.Str)
			}
			return raw
		}),
		mutant("file-ref-mentioned", "It offers ref where no resolver is bound.", rewording(func(r *compose.Refusal, _ *compose.Template) {
			if r.Code == compose.CodeInvalidFileArgument {
				r.Message += " Use text, base64 or ref."
			}
		})),
		refuse("padding-refused", "It refuses base64 with padding.", func(f gjson.Result) bool { return f.Get("base64").Str == "YWI=" }),
		refuse("name-dots-refused", "It refuses a filename with more than one dot.", func(f gjson.Result) bool { return strings.Count(f.Get("name").Str, ".") > 1 }),
		refuse("name-blank-refused", "It refuses a filename with a blank.", func(f gjson.Result) bool { return strings.Contains(f.Get("name").Str, " ") }),
	)
	thirteen := called(breaks("SDK-13"),
		mutant("file-budget-ignored", "It ignores the budget of inline files.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			call.MaxInlineFileBytes = compose.DefaultMaxInlineFileBytes
			return was(t, call)
		})),
		mutant("file-budget-encoded", "It counts the letters of base64 instead of the bytes.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			if len(gjson.GetBytes(call.Arguments, "file.base64").Str) > int(call.MaxInlineFileBytes) {
				return nil, &compose.Refusal{Code: compose.CodeFileTooLarge, Message: "The file is too large."}
			}
			return was(t, call)
		})),
		mutant("file-budget-each", "It holds the budget for each file instead of for the call.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			if n := len(gjson.GetBytes(call.Arguments, "files").Array()); n > 1 {
				call.MaxInlineFileBytes *= int64(n)
			}
			return was(t, call)
		})),
		mutant("file-budget-at-limit", "It refuses a file at the budget.", composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			call.MaxInlineFileBytes--
			return was(t, call)
		})),
		mutant("file-limit-ignored", "It ignores the limit of resolved files.", stepping("files", func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
			other := *l
			other.Limits.MaxFileBytes = compose.DefaultMaxFileBytes
			return run(ctx, &other, c)
		})),
	)
	resolving := func(edit func(err error) error) func() serve.Reference {
		return layering(func(p *invoke.Policy) {
			was := p.FileError
			p.FileError = func(err error) error { return edit(was(err)) }
		})
	}
	retry := func(retryable func(facts schemas.RefuseParams, was bool) bool) func() serve.Reference {
		return refusals(func(p *envelope.RefusalPolicy) {
			was := p.Retryable
			p.Retryable = func(facts schemas.RefuseParams) bool { return retryable(facts, was(facts)) }
		})
	}
	return slices.Concat(twelve, thirteen,
		called(breaks("SDK-14"),
			mutant("file-unavailable-final", "It calls a store that is unavailable final.", retry(func(facts schemas.RefuseParams, was bool) bool {
				return was && facts.Error != schemas.FileUnresolved
			})),
			mutant("file-not-found-retryable", "It calls a ref that is not found retryable.", retry(func(facts schemas.RefuseParams, was bool) bool {
				return was || facts.Error == schemas.FileUnresolved
			})),
		),
		called(breaks("SDK-14", "SDK-22"), mutant("file-forbidden-told", "It answers otherwise for a ref that is forbidden.", resolving(func(err error) error {
			if errors.Is(err, compose.ErrFileForbidden) {
				return compose.ErrFileUnavailable
			}
			return err
		}))),
	)
}
