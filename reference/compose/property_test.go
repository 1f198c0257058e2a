package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/touchstone/reference/compose"
	"pgregory.net/rapid"
)

// quote writes a string as JSON.
func quote(t rapid.TB, v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func mustCompose(t rapid.TB, template *compose.Template, c compose.Call) *compose.Request {
	r, err := compose.Compose(template, c)
	if err != nil {
		t.Fatalf("Compose(%s): %v", c.Arguments, err)
	}
	return r
}

// What a backend decodes is what the agent said, and nothing else.
func TestEncodingRoundTrip(t *testing.T) {
	template := parseTemplate(t, `{"method":"POST","route":"/a/{p}/z","parameters":[
		{"name":"p","in":"path","type":"string"},{"name":"q &","in":"query","type":"string"},
		{"name":"l","in":"query","type":"string","array":true},
		{"name":"d","in":"query","type":"string","array":true,"style":"pipeDelimited"},
		{"name":"o","in":"query","type":"object","members":[{"name":"m=","type":"string"}]},
		{"name":"c","in":"cookie","type":"string"}],
		"contentType":"application/x-www-form-urlencoded","body":{"properties":["f"]},"form":{"fields":[{"name":"f","type":"string"}]}}`)
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.String().Filter(func(s string) bool { return s != "" && s != "." && s != ".." }).Draw(t, "path")
		value := rapid.String().Draw(t, "value")
		list := rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "list")
		r := mustCompose(t, template, call(`{"p":`+quote(t, path)+`,"q &":`+quote(t, value)+`,"l":`+quote(t, list)+
			`,"d":`+quote(t, list)+`,"o":{"m=":`+quote(t, value)+`},"c":`+quote(t, value)+`,"f":`+quote(t, value)+`}`))

		rawPath, rawQuery, _ := strings.Cut(r.PathAndQuery, "?")
		segments := strings.Split(rawPath, "/")
		if len(segments) != 4 {
			t.Fatalf("path %q left its segment", rawPath)
		}
		if got, err := url.PathUnescape(segments[2]); err != nil || got != path {
			t.Errorf("path: %q, %v, want %q", got, err, path)
		}
		query, err := url.ParseQuery(rawQuery)
		if err != nil {
			t.Fatalf("query %q: %v", rawQuery, err)
		}
		if len(query) != 4 || query.Get("q &") != value || query.Get("o[m=]") != value || !slices.Equal(query["l"], list) {
			t.Errorf("query: %q", query)
		}
		_, delimited, _ := strings.Cut(rawQuery, "&d=")
		delimited, _, _ = strings.Cut(delimited, "&")
		for i, element := range strings.Split(delimited, "|") {
			if got, err := url.QueryUnescape(element); err != nil || got != list[i] {
				t.Errorf("element %d: %q, %v, want %q", i, got, err, list[i])
			}
		}
		if got, err := url.QueryUnescape(strings.TrimPrefix(r.Headers[0].Value, "c=")); err != nil || got != value {
			t.Errorf("cookie: %q, %v, want %q", got, err, value)
		}
		form, err := url.ParseQuery(*r.BodyForm)
		if err != nil || len(form) != 1 || form.Get("f") != value {
			t.Errorf("form: %q, %v", form, err)
		}
	})
}

func TestEscape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		escaped := compose.Escape(s)
		if got, err := url.PathUnescape(escaped); err != nil || got != s {
			t.Errorf("Escape(%q) = %q, which decodes to %q, %v", s, escaped, got, err)
		}
		if strings.Trim(escaped, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%") != "" {
			t.Errorf("Escape(%q) = %q", s, escaped)
		}
	})
}

// A number keeps its value to the last digit, and equal numbers one text.
func TestNumbersKeepTheirValue(t *testing.T) {
	template := parseTemplate(t, params(`{"name":"n","in":"query","type":"number"}`))
	canonical := func(t *rapid.T, raw string) string {
		r := mustCompose(t, template, call(`{"n":`+raw+`}`))
		return strings.TrimPrefix(r.PathAndQuery, "/p?n=")
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?`).Draw(t, "mantissa")
		shift := rapid.IntRange(-40, 40).Draw(t, "exponent")
		raw += rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + strconv.Itoa(shift)
		got := canonical(t, raw)
		want, ok := new(big.Rat).SetString(raw)
		value, ok2 := new(big.Rat).SetString(got)
		if !ok || !ok2 || want.Cmp(value) != 0 {
			t.Fatalf("%s became %s", raw, got)
		}
		if strings.ContainsAny(got, "eE+") || strings.HasPrefix(got, "-0") && !strings.Contains(got, ".") ||
			strings.Contains(got, ".") && strings.TrimRight(got, "0.") != got {
			t.Errorf("%s became %s, which is not the shortest form", raw, got)
		}
		if again := canonical(t, got); again != got {
			t.Errorf("%s became %s and then %s", raw, got, again)
		}
	})
}

// The name of a hidden argument and any unknown name are refused alike, up to
// the name, whatever else the call holds.
func TestHiddenIsUnknown(t *testing.T) {
	template := parseTemplate(t, `{"method":"POST","route":"/b","parameters":[{"name":"a","in":"query","type":"integer"},
		{"name":"hidden7","in":"query","type":"integer","fill":{"kind":"deferred","source":"s"}}],
		"body":{"properties":["c","hidden8"],"curation":[{"name":"hidden8","fill":{"kind":"constant","value":1}}]}}`)
	rapid.Check(t, func(t *rapid.T) {
		value := quote(t, rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](1), rapid.Just[any]("x"), rapid.Just[any]([]int{})).Draw(t, "value"))
		rest := rapid.SampledFrom([]string{``, `,"a":1`, `,"a":"wrong"`, `,"a":null,"c":1`, `,"other":1`}).Draw(t, "rest")
		refusal := func(name string) string {
			_, err := compose.Compose(template, call(`{"`+name+`":`+value+rest+`}`))
			var r *compose.Refusal
			if !errors.As(err, &r) {
				t.Fatalf("%s was not refused: %v", name, err)
			}
			return strings.ReplaceAll(quote(t, r), name, "NAME")
		}
		unknown := refusal("unknown9")
		for _, hidden := range []string{"hidden7", "hidden8"} {
			if got := refusal(hidden); got != unknown {
				t.Errorf("%s: %s, but an unknown name: %s", hidden, got, unknown)
			}
		}
	})
}

// everything has a parameter or field of each kind; FuzzCompose and
// TestArbitraryArguments aim at it.
var everything = []string{
	`{"method":"POST","route":"/x/{p}/{l}","parameters":[{"name":"p","in":"path","type":"string"},
		{"name":"l","in":"path","type":"integer","array":true},{"name":"u","in":"query"},
		{"name":"n","in":"query","type":"number","array":true,"style":"pipeDelimited"},
		{"name":"o","in":"query","type":"object","notation":"dot","members":[{"name":"m","type":"integer"},{"name":"a","array":true}]},
		{"name":"x-h","in":"header","array":true},{"name":"c","in":"cookie"},{"name":"r","in":"cookie","style":"cookie","array":true}],
		"body":{"properties":["b","s"],"additionalProperties":true,"curation":[{"name":"s","fill":{"kind":"deferred","source":"k"}}]}}`,
	`{"method":"POST","route":"/x","bodyRoot":"b","contentType":"text/plain"}`,
	`{"method":"POST","route":"/x","bodyRoot":"b","contentType":"application/pdf"}`,
	`{"method":"POST","route":"/x","bodyRoot":"b","contentType":"multipart/form-data","fileSources":["text","base64","ref"],
		"form":{"fields":[{"name":"u"},{"name":"f","type":"file"},{"name":"fs","type":"file","array":true},
			{"name":"o","type":"object","members":[{"name":"m"}]}]}}`,
	`{"method":"POST","route":"/x","body":{"properties":["u","o"]},"contentType":"application/x-www-form-urlencoded",
		"form":{"fields":[{"name":"u","type":"boolean","array":true},{"name":"o","type":"object","members":[{"name":"m"}]}]}}`,
}

func templates(t testing.TB) []*compose.Template {
	var list []*compose.Template
	for _, text := range everything {
		list = append(list, parseTemplate(t, text))
	}
	return list
}

// checkSound checks what holds for every answer of Compose.
func checkSound(t rapid.TB, template *compose.Template, arguments string) {
	r, err := compose.Compose(template, call(arguments))
	if err != nil {
		var refusal *compose.Refusal
		if r != nil || !errors.As(err, &refusal) || refusal.Code == "" || refusal.Retryable ||
			strings.TrimSpace(refusal.Message) == "" || !utf8.ValidString(refusal.Message) {
			t.Errorf("Compose(%q) = %v, %#v", arguments, r, err)
		}
		return
	}
	for i := range len(r.PathAndQuery) {
		if c := r.PathAndQuery[i]; c <= ' ' || c >= 0x7F || c == '#' || c == '"' {
			t.Errorf("Compose(%q): path %q", arguments, r.PathAndQuery)
		}
	}
	for _, h := range r.Headers {
		if strings.ContainsAny(h.Value, "\r\n\x00") || !utf8.ValidString(h.Value) {
			t.Errorf("Compose(%q): header %q", arguments, h)
		}
	}
	if r.BodyJSON != nil && !json.Valid(r.BodyJSON) {
		t.Errorf("Compose(%q): body %q", arguments, r.BodyJSON)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("Compose(%q): %v", arguments, err)
	}
	if err := r.Resolve(context.Background(), &store{err: compose.ErrFileNotFound}, 1); err != nil {
		return
	}
	req, err := r.HTTPRequest(context.Background(), "http://127.0.0.1:1")
	if err != nil {
		t.Fatalf("Compose(%q): HTTPRequest: %v", arguments, err)
	}
	if got := req.URL.RequestURI(); got != r.PathAndQuery {
		t.Errorf("Compose(%q): net/http would send %q for %q", arguments, got, r.PathAndQuery)
	}
}

func TestArbitraryArguments(t *testing.T) {
	all := templates(t)
	names := rapid.OneOf(rapid.SampledFrom([]string{"p", "l", "u", "n", "o", "m", "a", "x-h", "c", "r", "b", "s", "f", "fs",
		"text", "base64", "ref", "name", "mediaType"}), rapid.String())
	scalars := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.SampledFrom([]any{nil, true, false, "AA==", "a/b", "..", json.Number("1e99999"), []any{}, map[string]any{}}),
	)
	values := rapid.Deferred(func() *rapid.Generator[any] { return nested(names, scalars, 3) })
	rapid.Check(t, func(t *rapid.T) {
		template := rapid.SampledFrom(all).Draw(t, "template")
		arguments := quote(t, rapid.MapOfN(names, values, 0, 8).Draw(t, "arguments"))
		if rapid.Bool().Draw(t, "damaged") && len(arguments) > 2 {
			cut := rapid.IntRange(0, len(arguments)).Draw(t, "cut")
			arguments = arguments[:cut] + arguments[min(cut+1, len(arguments)):]
		}
		checkSound(t, template, arguments)
	})
}

// nested generates JSON values of at most the given depth.
func nested(names *rapid.Generator[string], scalars *rapid.Generator[any], depth int) *rapid.Generator[any] {
	if depth == 0 {
		return scalars
	}
	inner := nested(names, scalars, depth-1)
	return rapid.OneOf(
		scalars,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(names, inner, 0, 4), func(m map[string]any) any { return m }),
	)
}

// FuzzCompose takes any template too: Compose panics with none, and with one
// that Validate accepts its answer is sound.
func FuzzCompose(f *testing.F) {
	for i, arguments := range []string{
		`{"p":"a/b","l":[1,2.0],"u":"x","n":[1e3],"o":{"m":1,"a":["\ud800"]},"x-h":["a\tb"],"c":"é","r":["a"],"b":{},"z":1}`,
		`{"b":"text"}`,
		`{"b":{"base64":"AA==","name":"a.b","mediaType":"a/b;c=d"}}`,
		`{"b":{"u":1,"f":{"text":"t"},"fs":[{"ref":"r"}],"o":{"m":"v"}}}`,
		`"{\"u\":[true],\"o\":{\"m\":-0.0}}"`,
	} {
		f.Add(everything[i], arguments)
	}
	f.Fuzz(func(t *testing.T, text, arguments string) {
		var template compose.Template
		if json.Unmarshal([]byte(text), &template) != nil {
			return
		}
		if template.Validate() != nil {
			_, _ = compose.Compose(&template, call(arguments))
			return
		}
		checkSound(t, &template, arguments)
	})
}
