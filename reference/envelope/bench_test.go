package envelope_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

func BenchmarkMap(b *testing.B) {
	problem := http.Header{"Content-Type": {"application/problem+json; charset=utf-8"}}
	benchmarks := []struct {
		name  string
		resp  envelope.Response
		known []string
		want  string
	}{
		{
			name: "404 problem details",
			resp: envelope.Response{Status: 404, Header: problem, Body: []byte(`{"type":"https://example.com/problems/order-not-found",` +
				`"title":"Order not found","status":404,"detail":"There is no order 4821 in this account.","instance":"/orders/4821"}`)},
			want: "There is no order 4821 in this account.",
		},
		{
			name: "400 two fields",
			resp: envelope.Response{Status: 400, Header: problem, Body: []byte(`{"type":"https://example.com/problems/validation",` +
				`"title":"Two values were refused","status":400,"errors":{"Item":["Name what to order."],"Quantity":["Order between 1 and 100 pieces."]}}`)},
			known: []string{"item", "quantity", "note"},
			want:  "The backend rejected one or more arguments.",
		},
		{
			name: "400 leak",
			resp: envelope.Response{Status: 400, Header: problem, Body: []byte(`{"title":"Bad Request","status":400,` +
				`"detail":"Cannot save the order.\n   at Shop.Orders.OrderStore.Save(Order order) in C:\\build\\OrderStore.cs:line 88"}`)},
			want: "The backend rejected the request (400)",
		},
		{
			name: "500 no body",
			resp: envelope.Response{Status: 500},
			want: "The backend failed while handling the call (500).",
		},
		{
			name: "500 traceId",
			resp: envelope.Response{Status: 500, Header: problem, Body: []byte(`{"title":"Internal Server Error","status":500,"traceId":"00-4bf92f35-01"}`)},
			want: "The backend failed while handling the call (500). Details were withheld. Reference: 00-4bf92f35-01.",
		},
		{
			name: "400 hostile 1 MB",
			resp: envelope.Response{Status: 400, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte(strings.Repeat("at ....", 150_000))},
			want: "The backend rejected the request (400)",
		},
	}
	for _, bench := range benchmarks {
		b.Run(strings.ReplaceAll(bench.name, " ", "-"), func(b *testing.B) {
			mapper := envelope.NewMapper()
			fields := envelope.NewFieldContext(schemas.FieldContext{Known: bench.known})
			b.ReportAllocs()
			var e schemas.Envelope
			for b.Loop() {
				e = mapper.Map(bench.resp, fields)
			}
			if got := e.(*schemas.BackendError).Message; !strings.HasPrefix(got, bench.want) {
				b.Errorf("the message is %q", got)
			}
		})
	}
}
