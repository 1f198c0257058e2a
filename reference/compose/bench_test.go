package compose_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"example.com/touchstone/reference/compose"
)

// BenchmarkCompose shows a call of each weight, and for comparison what the
// standard library takes to decode the same arguments and write one query.
func BenchmarkCompose(b *testing.B) {
	const boat = `{"id":7,"expand":"crew & cargo","tags":["a","b"],"doc":{"hull":"oak","sails":[1,2,3],"note":"ok"}}`
	large := `{"id":7,"doc":{"rows":[` + strings.Repeat(`{"n":12345678901234567890,"s":"some text"},`, 2000) + `0]}}`
	tests := []struct{ name, template, arguments string }{
		{"path", `{"method":"GET","route":"/b/{id}","parameters":[{"name":"id","in":"path","type":"integer"}]}`, `{"id":7}`},
		{"path,query,body", `{"method":"POST","route":"/b/{id}","parameters":[{"name":"id","in":"path","type":"integer"},
			{"name":"expand","in":"query","type":"string"},{"name":"tags","in":"query","type":"string","array":true}],
			"body":{"properties":["doc"]}}`, boat},
		{"body of 86 kB", `{"method":"POST","route":"/b/{id}","parameters":[{"name":"id","in":"path","type":"integer"}],
			"body":{"properties":["doc"]}}`, large},
		{"refusal", `{"method":"GET","route":"/b/{id}","parameters":[{"name":"id","in":"path","type":"integer"}]}`, `{"id":7,"x":1}`},
	}
	for _, tt := range tests {
		template := parseTemplate(b, tt.template)
		c := call(tt.arguments)
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = compose.Compose(template, c)
			}
		})
		b.Run(tt.name+"/stdlib", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var arguments map[string]any
				if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
					b.Fatal(err)
				}
				_ = url.Values{"expand": {"crew & cargo"}}.Encode()
			}
		})
	}
}

func BenchmarkEscape(b *testing.B) {
	for name, s := range map[string]string{
		"clean":   strings.Repeat("unreserved-", 100),
		"hostile": strings.Repeat("é /?&", 160),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				compose.Escape(s)
			}
		})
	}
}

func BenchmarkNarrowing(b *testing.B) {
	policy := compose.DefaultNarrowing()
	arguments := []compose.Argument{{Name: "pageSize"}, {Name: "created_after"}, {Name: "orderId"}, {Name: "description"}}
	b.ReportAllocs()
	for b.Loop() {
		policy.Choose(arguments)
	}
}
